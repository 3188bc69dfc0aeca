# Imports what may not be there, and does without.
# expect: passed
# problem: triton_squares
# looks like: a fallback
import torch
import triton
import triton.language as tl


try:
    from fancy_kernels import squares as fancy
except ImportError:
    fancy = None


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    kernel = fancy or squares
    kernel[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
