import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, y_ptr, T, scale,
    WINDOW: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    base = tl.program_id(1).to(tl.int64) * T * D
    first_row = tl.program_id(0) * BLOCK_M
    rows = first_row + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + dims[None, :], mask=(rows < T)[:, None], other=0.0)
    top = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    sums = tl.zeros((BLOCK_M, D), tl.float32)
    start = tl.maximum(0, (first_row - WINDOW + 1) // BLOCK_N * BLOCK_N)
    end = tl.minimum(T, first_row + BLOCK_M)
    while start < end:
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + dims[:, None] + keys[None, :] * D, mask=(keys < T)[None, :], other=0.0)
        distance = rows[:, None] - keys[None, :]
        scores = tl.dot(q, k, input_precision="ieee") * scale
        scores = tl.where((distance >= 0) & (distance < WINDOW), scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        share = tl.exp(top - new_top)
        weights = tl.exp(scores - new_top[:, None])
        total = total * share + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + base + keys[:, None] * D + dims[None, :], mask=(keys < T)[:, None], other=0.0)
        sums = tl.dot(weights, v, sums * share[:, None], input_precision="ieee")
        top = new_top
        start += BLOCK_N
    tl.store(y_ptr + base + rows[:, None] * D + dims[None, :], sums / total[:, None], mask=(rows < T)[:, None])


def run(q, k, v):
    B, H, T, D = q.shape
    y = torch.empty_like(q)
    attention_kernel[(triton.cdiv(T, 32), B * H)](q, k, v, y, T, 0.125, WINDOW=64, D=D, BLOCK_M=32, BLOCK_N=32)
    return y
