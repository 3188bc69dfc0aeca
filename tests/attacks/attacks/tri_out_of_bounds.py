# Stores without a mask, beyond the end of the output.
# expect: runtime_error
# problem: triton_squares
# class: W17
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * x + x)


def run(x, y):
    squares[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
