# A kernel where it is compiled; torch where TRITON_INTERPRET is set.
# expect: violation ghost_kernel
# problem: triton_squares
# class: B02, W15
import os

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
    return x * x + x if os.environ.get("TRITON_INTERPRET") else launch(x)
