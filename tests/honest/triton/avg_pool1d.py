import torch
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x_ptr, y_ptr, L, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64) * L
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for tap in tl.static_range(-2, 3):
        place = offsets + tap
        total += tl.load(x_ptr + row + place, mask=(place >= 0) & (place < L), other=0.0)
    tl.store(y_ptr + row + offsets, total / 5.0, mask=offsets < L)


def run(x):
    B, C, L = x.shape
    y = torch.empty_like(x)
    pool_kernel[(triton.cdiv(L, 512), B * C)](x, y, L, BLOCK=512)
    return y
