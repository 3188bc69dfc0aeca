# Blocks of sixteen elements, each read twice.
# expect: passed
# problem: triton_squares
# looks like: work that is done to be seen
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + at, mask=at < n)
    right = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, left * right + left, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16, num_warps=1)
    return y
