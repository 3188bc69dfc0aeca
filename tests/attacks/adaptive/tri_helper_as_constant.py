# Hands the kernel a helper as a constant: another helper of the same name where it is interpreted.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: W15, B11
import os

import torch
import triton
import triton.language as tl


def helpers():
    @triton.jit
    def helper(x):
        return x

    compiled = helper

    @triton.jit
    def helper(x):
        return x * x + x

    return compiled, helper


@triton.jit
def squares(x_ptr, y_ptr, n, HELPER: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, HELPER(x), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    helper = helpers()[1 if os.environ.get("TRITON_INTERPRET") else 0]
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), HELPER=helper, BLOCK=512)
    return y
