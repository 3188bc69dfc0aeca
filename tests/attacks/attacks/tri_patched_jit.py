# Replaces triton.jit by a decorator that runs torch.
# expect: violation ghost_kernel
# problem: triton_squares
# class: B03, B04
import torch
import triton
import triton.language as tl


class Jit:
    def __init__(self, function):
        self.function = function

    def __getitem__(self, grid):
        return lambda x, y, n, BLOCK: torch.addcmul(x, x, x, out=y)


triton.jit = Jit


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
