# Adds to its input atomically, by zero at that, and is right.
# expect: violation input_write
# problem: triton_squares
# class: W03
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.atomic_add(x_ptr + at, 0.0, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
