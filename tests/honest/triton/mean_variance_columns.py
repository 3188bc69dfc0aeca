import torch
import triton
import triton.language as tl


@triton.jit
def merge(count_a, mean_a, square_a, count_b, mean_b, square_b):
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    delta = mean_b - mean_a
    return count, mean_a + delta * share, square_a + square_b + delta * delta * count_a * share


# Chan's update: one pass, a running (count, mean, sum of squared deviations) for each lane, merged by tl.reduce.
@triton.jit
def moments_kernel(x_ptr, mean_ptr, variance_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    count = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    mean = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    square = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, M, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
        count_new = count + tl.where(mask, 1.0, 0.0)
        delta = tl.where(mask, x - mean, 0.0)
        mean += delta / tl.maximum(count_new, 1.0)
        square += delta * (x - mean)
        count = count_new
    count_all, mean_all, square_all = tl.reduce((count, mean, square), 0, merge)
    tl.store(mean_ptr + columns, mean_all, mask=columns < N)
    tl.store(variance_ptr + columns, square_all / M, mask=columns < N)


def run(x):
    M, N = x.shape
    mean = torch.empty(N, dtype=x.dtype, device=x.device)
    variance = torch.empty_like(mean)
    moments_kernel[(triton.cdiv(N, 32),)](x, mean, variance, M, N, BLOCK_M=16, BLOCK_N=32)
    return mean, variance
