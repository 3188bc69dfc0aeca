import torch
import triton
import triton.language as tl


@triton.jit
def tile_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, M, N: tl.constexpr, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None], other=0.0)
        sums = tl.dot(x, tl.load(weight_ptr + inner[:, None] * N + columns[None, :]), sums, input_precision="ieee")
    z = sums + tl.load(bias_ptr + columns)[None, :]
    tl.atomic_add(y_ptr + rows, tl.sum(tl.where(z >= 0, z, 0.1 * z), axis=1), mask=rows < M)


def run(x, weight, bias):
    M, K = x.shape
    N = weight.shape[1]
    y = torch.zeros(M, dtype=x.dtype, device=x.device)
    tile_kernel[(triton.cdiv(M, 32), N // 64)](x, weight, bias, y, M, N=N, K=K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)
    return y
