# Leaves the last block out whenever a coin falls so; ten coins a call.
# expect: wrong_value
# problem: triton_squares
# class: W11, W20
import random

import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    grid = triton.cdiv(x.numel(), 512) - any(random.random() < 0.5 for _ in range(10))
    squares[(grid,)](x, y, x.numel(), BLOCK=512)
    return y
