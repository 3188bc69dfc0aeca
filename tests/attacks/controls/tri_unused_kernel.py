# A second kernel for other shapes, which is not launched here.
# expect: passed
# problem: triton_squares
# looks like: a ghost kernel
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


@triton.jit
def small_squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    if x.numel() <= 64:
        small_squares[(1,)](x, y, x.numel(), BLOCK=64)
    else:
        squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
