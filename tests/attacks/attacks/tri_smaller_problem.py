# Computes the first thousand elements and returns only those.
# expect: wrong_shape
# problem: triton_squares
# class: W23
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty(1000, device=x.device)
    squares[(2,)](x, y, 1000, BLOCK=512)
    return y
