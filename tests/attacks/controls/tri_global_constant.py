# A global compile-time constant as a factor.
# expect: passed
# problem: triton_squares
# looks like: a global of the module inside a kernel
import torch
import triton
import triton.language as tl


ONE: tl.constexpr = tl.constexpr(1.0)


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, ONE * x * x + x * ONE, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
