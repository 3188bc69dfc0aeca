# A helper function that is another one where it is interpreted: the kernel around it is the same.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: W15, B11
import os

import torch
import triton
import triton.language as tl


if os.environ.get("TRITON_INTERPRET"):

    @triton.jit
    def helper(x):
        return x * x + x

else:

    @triton.jit
    def helper(x):
        return x


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, helper(x), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
