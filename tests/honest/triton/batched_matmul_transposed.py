import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    batch = tl.program_id(2)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        inside = (inner < K)[:, None]
        # a is read as it lies, [K, M], and transposed in registers.
        a = tl.load(a_ptr + batch * K * M + inner[:, None] * M + rows[None, :], mask=inside & (rows < M)[None, :], other=0.0)
        b = tl.load(b_ptr + batch * K * N + inner[:, None] * N + columns[None, :], mask=inside & (columns < N)[None, :], other=0.0)
        sums = tl.dot(tl.trans(a), b, sums, input_precision="ieee")
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + batch * M * N + rows[:, None] * N + columns[None, :], sums, mask=mask)


def run(a, b, c):
    B, K, M = a.shape
    N = b.shape[2]
    bmm_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32), B)](a, b, c, M, N, K, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)
