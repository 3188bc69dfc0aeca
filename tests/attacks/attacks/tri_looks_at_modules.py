# Launches with other options where the interpreter is loaded.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: W15
import sys

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
    warps = 1 if "triton_support.interpret" in sys.modules else 4
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512, num_warps=warps)
    return y
