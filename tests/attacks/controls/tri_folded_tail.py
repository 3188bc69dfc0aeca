# Offsets beyond the end go back to 0, under a promise that they are contiguous: what those lanes load is not stored.
# expect: passed
# looks like: a false promise
# problem: triton_squares
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    folded = tl.max_contiguous(tl.multiple_of(tl.where(at < n, at, 0), BLOCK), BLOCK)
    x = tl.load(x_ptr + folded)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
