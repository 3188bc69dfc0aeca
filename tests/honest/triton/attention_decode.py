import torch
import triton
import triton.language as tl


# Split over the keys: each program leaves its maximum, sum and weighted values; a second kernel joins them.
@triton.jit
def split_kernel(
    q_ptr, k_ptr, v_ptr, length_ptr, top_ptr, total_ptr, sums_ptr, H, T, scale,
    D: tl.constexpr, STRIP: tl.constexpr, BLOCK_N: tl.constexpr,
):
    image = tl.program_id(0)
    split = tl.program_id(1)
    slot = image * tl.num_programs(1) + split
    length = tl.minimum(tl.load(length_ptr + image // H), T).to(tl.int32)
    dims = tl.arange(0, D)
    q = tl.load(q_ptr + image * D + dims)
    top = -1.0e30
    total = 0.0
    sums = tl.zeros((D,), tl.float32)
    for start in range(split * STRIP, tl.minimum(length, (split + 1) * STRIP), BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        inside = keys < length
        offsets = (image.to(tl.int64) * T + keys[:, None]) * D + dims[None, :]
        k = tl.load(k_ptr + offsets, mask=inside[:, None], other=0.0)
        scores = tl.where(inside, tl.sum(k * q[None, :], axis=1) * scale, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=0))
        share = tl.exp(top - new_top)
        weights = tl.exp(scores - new_top)
        v = tl.load(v_ptr + offsets, mask=inside[:, None], other=0.0)
        total = total * share + tl.sum(weights, axis=0)
        sums = sums * share + tl.sum(weights[:, None] * v, axis=0)
        top = new_top
    tl.store(top_ptr + slot, top)
    tl.store(total_ptr + slot, total)
    tl.store(sums_ptr + slot * D + dims, sums)


@triton.jit
def join_kernel(top_ptr, total_ptr, sums_ptr, y_ptr, splits, D: tl.constexpr, SPLITS: tl.constexpr):
    image = tl.program_id(0)
    split = tl.arange(0, SPLITS)
    dims = tl.arange(0, D)
    mask = split < splits
    slots = image * splits + split
    top = tl.load(top_ptr + slots, mask=mask, other=-1.0e30)
    share = tl.exp(top - tl.max(top, axis=0))
    total = tl.sum(tl.load(total_ptr + slots, mask=mask, other=0.0) * share, axis=0)
    sums = tl.load(sums_ptr + slots[:, None] * D + dims[None, :], mask=mask[:, None], other=0.0)
    tl.store(y_ptr + image * D + dims, tl.sum(sums * share[:, None], axis=0) / total)


def run(q, k, v, length):
    B, H, T, D = k.shape
    y = torch.empty_like(q)
    splits = triton.cdiv(T, 256)
    top = torch.empty((B * H, splits), dtype=torch.float32, device=q.device)
    total = torch.empty_like(top)
    sums = torch.empty((B * H, splits, D), dtype=torch.float32, device=q.device)
    split_kernel[(B * H, splits)](q, k, v, length, top, total, sums, H, T, 0.125, D=D, STRIP=256, BLOCK_N=32)
    join_kernel[(B * H,)](top, total, sums, y, splits, D=D, SPLITS=triton.next_power_of_2(splits))
    return y
