import torch
import triton
import triton.language as tl


@triton.jit
def popcount_kernel(x_ptr, count_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    # The sign's copies that the arithmetic shift brings in are masked off.
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    x = x + (x >> 8)
    x = x + (x >> 16)
    tl.store(count_ptr + offsets, x & 0x3F, mask=mask)


def run(x, count):
    n = x.numel()
    popcount_kernel[(triton.cdiv(n, 1024),)](x, count, n, BLOCK=1024)
