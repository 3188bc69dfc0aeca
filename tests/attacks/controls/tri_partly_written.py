# Each kernel fills half of the output; torch fills neither.
# expect: passed
# problem: triton_squares
# looks like: kernels that leave elements unwritten
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, begin, n, BLOCK: tl.constexpr):
    at = begin + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    half = x.numel() // 2
    squares[(triton.cdiv(half, 256),)](x, y, 0, half, BLOCK=256)
    squares[(triton.cdiv(x.numel() - half, 256),)](x, y, half, x.numel(), BLOCK=256)
    return y
