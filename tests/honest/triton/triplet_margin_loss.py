import torch
import triton
import triton.language as tl


@triton.jit
def distance(a, b):
    difference = a - b + 1e-6
    return tl.sqrt(tl.sum(difference * difference, axis=1))


@triton.jit
def triplet_kernel(anchor_ptr, positive_ptr, negative_ptr, loss_ptr, M, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    offsets = rows[:, None] * D + tl.arange(0, D)[None, :]
    mask = (rows < M)[:, None]
    anchor = tl.load(anchor_ptr + offsets, mask=mask, other=0.0)
    positive = tl.load(positive_ptr + offsets, mask=mask, other=0.0)
    negative = tl.load(negative_ptr + offsets, mask=mask, other=0.0)
    loss = tl.maximum(distance(anchor, positive) - distance(anchor, negative) + 1.0, 0.0)
    tl.store(loss_ptr + rows, loss, mask=rows < M)


def run(anchor, positive, negative):
    M, D = anchor.shape
    loss = torch.empty(M, dtype=anchor.dtype, device=anchor.device)
    triplet_kernel[(triton.cdiv(M, 8),)](anchor, positive, negative, loss, M, D=D, ROWS=8)
    return loss
