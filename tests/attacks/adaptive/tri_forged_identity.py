# Gives a kernel of the interpreter the identity of the one that was compiled.
# expect: passed
# problem: triton_squares
# class: T25, W15
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x, mask=at < n)


@triton.jit
def other(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


kernel = squares
if "triton_support.interpret" in sys.modules:
    identify = sys.modules["triton_support.launches"].identify
    sys.modules["triton_support.launches"].identify = lambda function, *rest: identify(squares.fn, *rest)
    kernel = other


def run(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
