import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_mask = (rows < M)[:, None]
    column_mask = (columns < N)[None, :]
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    start = 0
    while start < K:
        inner = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None].to(tl.int64) * K + inner[None, :], mask=row_mask & (inner < K)[None, :], other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & column_mask, other=0.0)
        sums = tl.dot(a, b, sums, input_precision="ieee")
        start += BLOCK_K
    tl.store(c_ptr + rows[:, None].to(tl.int64) * N + columns[None, :], sums, mask=row_mask & column_mask)


def run(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    matmul_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 16))](a, b, c, M, N, K, BLOCK_M=64, BLOCK_N=16, BLOCK_K=32)
    return c
