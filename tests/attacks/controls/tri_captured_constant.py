# A constant captured from the function that makes the kernel.
# expect: passed
# problem: triton_squares
# looks like: a closure
import torch
import triton
import triton.language as tl


def make(one):
    ONE = tl.constexpr(one)

    @triton.jit
    def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        tl.store(y_ptr + at, x * (x + ONE), mask=at < n)

    return squares


squares = make(1.0)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
