import torch
import triton
import triton.language as tl


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0)


@triton.jit
def linear_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, M, N: tl.constexpr, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, ACTIVATION: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=rows[:, None] < M, other=0.0)
        weight = tl.load(weight_ptr + inner[:, None] * N + columns[None, :])
        sums = tl.dot(x, weight, sums, input_precision="ieee")
    y = sums + tl.load(bias_ptr + columns)[None, :]
    if ACTIVATION == "relu":
        y = relu(y)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y, mask=rows[:, None] < M)


def run(x, weight, bias):
    M, K = x.shape
    N = weight.shape[1]
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))
    linear_kernel[grid](x, weight, bias, y, M, N, K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32, ACTIVATION="relu")
    return y
