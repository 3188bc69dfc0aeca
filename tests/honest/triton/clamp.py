import torch
import triton
import triton.language as tl


@triton.jit
def clamp_kernel(x_ptr, y_ptr, low, high, n, BLOCK: tl.constexpr, UNROLL: tl.constexpr):
    base = tl.program_id(0) * BLOCK * UNROLL
    for i in tl.static_range(UNROLL):
        offsets = base + i * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        tl.store(y_ptr + offsets, tl.minimum(tl.maximum(x, low), high), mask=mask)


def run(x, low, high, y):
    n = x.numel()
    BLOCK, UNROLL = 512, 4
    clamp_kernel[(triton.cdiv(n, BLOCK * UNROLL),)](x, y, low, high, n, BLOCK, UNROLL)
