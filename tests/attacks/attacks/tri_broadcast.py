# Computes one element and returns it with stride zero.
# expect: wrong_value
# problem: triton_squares
# class: W22
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty(1, device=x.device)
    squares[(1,)](x, y, 1, BLOCK=16)
    return y.expand(x.shape[0])
