import torch
import triton
import triton.language as tl


@triton.jit
def similarity_kernel(a_ptr, b_ptr, y_ptr, M, N, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    square_a = tl.zeros((BLOCK_M,), tl.float32)
    square_b = tl.zeros((BLOCK_N,), tl.float32)
    for start in range(0, D, BLOCK_D):
        inner = start + tl.arange(0, BLOCK_D)
        a = tl.load(a_ptr + rows[:, None] * D + inner[None, :], mask=(rows < M)[:, None], other=0.0)
        b = tl.load(b_ptr + columns[:, None] * D + inner[None, :], mask=(columns < N)[:, None], other=0.0)
        sums = tl.dot(a, b.T, sums, input_precision="ieee")
        square_a += tl.sum(a * a, axis=1)
        square_b += tl.sum(b * b, axis=1)
    length_a = tl.maximum(tl.sqrt(square_a), 1e-12)
    length_b = tl.maximum(tl.sqrt(square_b), 1e-12)
    y = sums / length_a[:, None] / length_b[None, :]
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y, mask=(rows < M)[:, None] & (columns < N)[None, :])


def run(a, b, y):
    M, D = a.shape
    N = b.shape[0]
    similarity_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, y, M, N, D=D, BLOCK_M=32, BLOCK_N=32, BLOCK_D=32)
