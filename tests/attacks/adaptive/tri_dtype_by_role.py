# Compiles for tensors of another dtype than it runs on, where the answer would be right for both.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: W15
import os

import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    interpreted = os.environ.get("TRITON_INTERPRET")
    y = torch.empty_like(x)
    given = x if interpreted else torch.empty_like(x, dtype=torch.float16)
    squares[(triton.cdiv(x.numel(), 512),)](given, y, x.numel(), BLOCK=512)
    return y
