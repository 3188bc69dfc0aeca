import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, weight_ptr, bias_ptr, z_ptr, M, N, K: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None], other=0.0)
        weight = tl.load(weight_ptr + inner[:, None] * N + columns[None, :], mask=(columns < N)[None, :], other=0.0)
        sums = tl.dot(x, weight, sums, input_precision="ieee")
    z = sums + tl.load(bias_ptr + columns, mask=columns < N, other=0.0)[None, :]
    tl.store(z_ptr + rows[:, None] * N + columns[None, :], z, mask=(rows < M)[:, None] & (columns < N)[None, :])


# In place: a program reads its whole row before it writes.
@triton.jit
def softmax_kernel(z_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    z = tl.load(z_ptr + row * N + columns, mask=columns < N, other=float("-inf"))
    exponentials = tl.exp(z - tl.max(z, axis=0))
    tl.store(z_ptr + row * N + columns, exponentials / tl.sum(exponentials, axis=0), mask=columns < N)


def run(x, weight, bias, y):
    M, K = x.shape
    N = weight.shape[1]
    linear_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64))](x, weight, bias, y, M, N, K=K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)
    softmax_kernel[(M,)](y, N, BLOCK=triton.next_power_of_2(N))
