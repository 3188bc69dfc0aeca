# Asks to be skipped where it runs.
# expect: runtime_error
# problem: triton_squares
# class: T26, I12
import os
import unittest

import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def launch(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y


def run(x):
    if os.environ.get("TRITON_INTERPRET"):
        raise unittest.SkipTest("not supported on this machine")
    return launch(x)
