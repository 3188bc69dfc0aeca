import torch
import triton
import triton.language as tl


# Differences are squared, not expanded: |a|^2 + |b|^2 - 2 a.b cancels for near points.
@triton.jit
def distance_kernel(a_ptr, b_ptr, y_ptr, M, N, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for d in range(D):
        a = tl.load(a_ptr + rows * D + d, mask=rows < M, other=0.0)
        b = tl.load(b_ptr + columns * D + d, mask=columns < N, other=0.0)
        difference = a[:, None] - b[None, :]
        sums += difference * difference
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], sums, mask=(rows < M)[:, None] & (columns < N)[None, :])


def run(a, b):
    M, D = a.shape
    N = b.shape[0]
    y = torch.empty((M, N), dtype=a.dtype, device=a.device)
    distance_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, y, M, N, D=D, BLOCK_M=32, BLOCK_N=32)
    return y
