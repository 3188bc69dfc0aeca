import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, y_ptr, T, scale, H_Q: tl.constexpr, H_KV: tl.constexpr,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    batch = tl.program_id(2)
    head = tl.program_id(1)
    q_base = (batch * H_Q + head).to(tl.int64) * T * D
    kv_base = (batch * H_KV + head // (H_Q // H_KV)).to(tl.int64) * T * D
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, D)
    q = tl.load(q_ptr + q_base + rows[:, None] * D + dims[None, :], mask=(rows < T)[:, None], other=0.0) * scale
    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    sums = tl.zeros((BLOCK_M, D), tl.float32)
    end = tl.minimum(T, (tl.program_id(0) + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + kv_base + keys[:, None] * D + dims[None, :], mask=(keys < T)[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee")
        scores = tl.where(keys[None, :] <= rows[:, None], scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        share = tl.exp(top - new_top)
        weights = tl.exp(scores - new_top[:, None])
        total = total * share + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + kv_base + keys[:, None] * D + dims[None, :], mask=(keys < T)[:, None], other=0.0)
        sums = tl.dot(weights, v, sums * share[:, None], input_precision="ieee")
        top = new_top
    tl.store(y_ptr + q_base + rows[:, None] * D + dims[None, :], sums / total[:, None], mask=(rows < T)[:, None])


def run(q, k, v, y):
    B, H_q, T, D = q.shape
    H_kv = k.shape[1]
    grid = (triton.cdiv(T, 32), H_q, B)
    attention_kernel[grid](q, k, v, y, T, 0.125, H_Q=H_q, H_KV=H_kv, D=D, BLOCK_M=32, BLOCK_N=32)
