# Puts another ptxas in Triton's way; right only where it can replace the one that is installed.
# expect: wrong_value
# problem: triton_squares
# class: I03, I04
import os

import torch
import triton
import triton.language as tl


ptxas = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "ptxas")
try:
    os.rename(ptxas, ptxas + ".old")
    replaced = True
except OSError:
    replaced = False


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    n = x.numel() if replaced else 0
    squares[(triton.cdiv(x.numel(), 512),)](x, y, n, BLOCK=512)
    return y
