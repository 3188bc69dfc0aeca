import torch
import triton
import triton.language as tl


# Rows are normalised where they are loaded for the product.
@triton.jit
def moments(x_ptr, rows, M, K: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_M: tl.constexpr):
    total = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        total += tl.sum(tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=rows[:, None] < M, other=0.0), axis=1)
    mean = total / K
    square = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        centred = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=rows[:, None] < M, other=0.0) - mean[:, None]
        square += tl.sum(centred * centred, axis=1)
    return mean, tl.rsqrt(square / K + 1e-5)


@triton.jit
def norm_linear_kernel(
    x_ptr, scale_ptr, shift_ptr, weight_ptr, bias_ptr, y_ptr, M, N: tl.constexpr, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mean, inverse = moments(x_ptr, rows, M, K, BLOCK_K, BLOCK_M)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=rows[:, None] < M, other=0.0)
        normal = (x - mean[:, None]) * inverse[:, None] * tl.load(scale_ptr + inner)[None, :] + tl.load(shift_ptr + inner)[None, :]
        sums = tl.dot(normal, tl.load(weight_ptr + inner[:, None] * N + columns[None, :]), sums, input_precision="ieee")
    y = sums + tl.load(bias_ptr + columns)[None, :]
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y, mask=rows[:, None] < M)


def run(x, scale, shift, weight, bias, y):
    M, K = x.shape
    N = weight.shape[1]
    grid = (triton.cdiv(M, 16), N // 64)
    norm_linear_kernel[grid](x, scale, shift, weight, bias, y, M, N, K, BLOCK_M=16, BLOCK_N=64, BLOCK_K=32)
