import torch
import triton
import triton.language as tl


# x @ down rides along in the same loop over K.
@triton.jit
def linear_kernel(
    x_ptr, weight_ptr, down_ptr, up_ptr, y_ptr, M, scale, N: tl.constexpr, K: tl.constexpr, R: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rank = tl.arange(0, R)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    low = tl.zeros((BLOCK_M, R), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None], other=0.0)
        sums = tl.dot(x, tl.load(weight_ptr + inner[:, None] * N + columns[None, :]), sums, input_precision="ieee")
        low = tl.dot(x, tl.load(down_ptr + inner[:, None] * R + rank[None, :]), low, input_precision="ieee")
    up = tl.load(up_ptr + rank[:, None] * N + columns[None, :])
    y = sums + scale * tl.dot(low, up, input_precision="ieee")
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y, mask=(rows < M)[:, None])


def run(x, weight, down, up, scale):
    M, K = x.shape
    N, R = weight.shape[1], down.shape[1]
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    linear_kernel[(triton.cdiv(M, 32), N // 64)](x, weight, down, up, y, M, scale, N, K, R, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)
    return y
