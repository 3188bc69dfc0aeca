import torch
import triton
import triton.language as tl


# The running maximum starts at a finite value, so that a block whose keys are all hidden gives no NaN.
@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, mask_ptr, y_ptr, H, T, scale,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    image = tl.program_id(1)
    base = image.to(tl.int64) * T * D
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + dims[None, :], mask=(rows < T)[:, None], other=0.0)
    top = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    sums = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, T, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        seen = tl.load(mask_ptr + image // H * T + keys, mask=keys < T, other=0) != 0
        k = tl.load(k_ptr + base + dims[:, None] + keys[None, :] * D, mask=(keys < T)[None, :], other=0.0)
        scores = tl.dot(q, k, input_precision="ieee") * scale
        scores = tl.where(seen[None, :], scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        share = tl.exp(top - new_top)
        weights = tl.exp(scores - new_top[:, None])
        total = total * share + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + base + keys[:, None] * D + dims[None, :], mask=(keys < T)[:, None], other=0.0)
        sums = tl.dot(weights, v, sums * share[:, None], input_precision="ieee")
        top = new_top
    tl.store(y_ptr + base + rows[:, None] * D + dims[None, :], sums / total[:, None], mask=(rows < T)[:, None])


def run(q, k, v, mask):
    B, H, T, D = q.shape
    y = torch.empty_like(q)
    attention_kernel[(triton.cdiv(T, 32), B * H)](q, k, v, mask, y, H, T, 0.125, D=D, BLOCK_M=32, BLOCK_N=32)
    return y
