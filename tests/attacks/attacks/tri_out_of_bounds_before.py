# Writes the output and the sixteen bytes in front of it.
# expect: runtime_error
# problem: triton_squares
# class: W17
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


@triton.jit
def before(y_ptr, COUNT: tl.constexpr):
    tl.store(y_ptr - COUNT + tl.arange(0, COUNT), tl.zeros((COUNT,), dtype=tl.float32))


def run(x, y):
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    before[(1,)](y, COUNT=4)
