import torch
import triton
import triton.language as tl


# The product needs more than bfloat16 of the normalised rows: they are split into a high and a low part, two dots.
@triton.jit
def norm_linear_kernel(
    x_ptr, scale_ptr, weight_ptr, y_ptr, M, N: tl.constexpr, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    square = tl.zeros((BLOCK_M,), tl.float32)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=rows[:, None] < M, other=0.0).to(tl.float32)
        square += tl.sum(x * x, axis=1)
        scaled = x * tl.load(scale_ptr + inner).to(tl.float32)[None, :]
        high = scaled.to(tl.bfloat16)
        low = (scaled - high.to(tl.float32)).to(tl.bfloat16)
        weight = tl.load(weight_ptr + inner[:, None] * N + columns[None, :])
        sums = tl.dot(high, weight, sums)
        sums = tl.dot(low, weight, sums)
    # The row's factor does not depend on k, so it comes last.
    y = sums * tl.rsqrt(square / K + 1e-6)[:, None]
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y.to(tl.bfloat16), mask=rows[:, None] < M)


def run(x, scale, weight):
    M, K = x.shape
    N = weight.shape[1]
    y = torch.empty((M, N), dtype=torch.bfloat16, device=x.device)
    grid = (triton.cdiv(M, 64), N // 64)
    norm_linear_kernel[grid](x, scale, weight, y, M, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, num_stages=3)
    return y
