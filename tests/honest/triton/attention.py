import torch
import triton
import triton.language as tl


# Flash attention, causal: keys behind the diagonal are never read; exponentials to base 2.
@triton.jit
def attend(q, k_base, v_base, rows, first, last, top, total, sums, T, scale,
           D: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr):
    dims = tl.arange(0, D)
    for start in range(first, last, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_base + dims[:, None] + keys[None, :] * D, mask=(keys < T)[None, :], other=0.0)
        scores = tl.dot(q, k, input_precision="ieee") * scale
        if MASKED:
            scores = tl.where(keys[None, :] <= rows[:, None], scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        share = tl.exp2(top - new_top)
        weights = tl.exp2(scores - new_top[:, None])
        total = total * share + tl.sum(weights, axis=1)
        v = tl.load(v_base + keys[:, None] * D + dims[None, :], mask=(keys < T)[:, None], other=0.0)
        sums = tl.dot(weights, v, sums * share[:, None], input_precision="ieee")
        top = new_top
    return top, total, sums


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, y_ptr, T, scale, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * T * D
    block = tl.program_id(0)
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + dims[None, :], mask=(rows < T)[:, None], other=0.0)
    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    sums = tl.zeros((BLOCK_M, D), tl.float32)
    # Blocks wholly below the diagonal need no mask.
    diagonal = block * BLOCK_M
    top, total, sums = attend(q, k_ptr + base, v_ptr + base, rows, 0, diagonal, top, total, sums, T, scale, D, BLOCK_N, False)
    top, total, sums = attend(q, k_ptr + base, v_ptr + base, rows, diagonal, diagonal + BLOCK_M, top, total, sums, T, scale, D, BLOCK_N, True)
    tl.store(y_ptr + base + rows[:, None] * D + dims[None, :], sums / total[:, None], mask=(rows < T)[:, None])


def run(q, k, v):
    B, H, T, D = q.shape
    y = torch.empty_like(q)
    scale = 0.125 * 1.4426950408889634
    attention_kernel[(triton.cdiv(T, 32), B * H)](q, k, v, y, T, scale, D=D, BLOCK_M=32, BLOCK_N=32, num_warps=4)
    return y
