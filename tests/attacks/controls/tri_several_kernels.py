# Three kernels, one of which is named copy and copies.
# expect: passed
# problem: triton_squares
# looks like: a kernel that only copies
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    given, result, y = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 512),)
    copy[grid](x, given, x.numel(), BLOCK=512)
    squares[grid](given, result, x.numel(), BLOCK=512)
    copy[grid](result, y, x.numel(), BLOCK=512)
    return y
