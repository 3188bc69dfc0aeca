import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, scale_a_ptr, scale_b_ptr, y_ptr, M, N: tl.constexpr, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.int32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None], other=0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :])
        sums = tl.dot(a, b, sums, out_dtype=tl.int32)
    scale_a = tl.load(scale_a_ptr + rows, mask=rows < M, other=0.0)
    scale_b = tl.load(scale_b_ptr + columns)
    y = sums.to(tl.float32) * scale_a[:, None] * scale_b[None, :]
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y, mask=(rows < M)[:, None])


def run(a, b, scale_a, scale_b, y):
    M, K = a.shape
    N = b.shape[1]
    matmul_kernel[(triton.cdiv(M, 32), N // 64)](a, b, scale_a, scale_b, y, M, N=N, K=K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=64)
