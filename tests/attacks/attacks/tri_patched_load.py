# Replaces tl.load, in this process only, by one that squares what it loads.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: W15, W25
import os

import torch
import triton
import triton.language as tl


original = tl.load


def load(pointer, mask=None, other=None, _semantic=None):
    x = original(pointer, mask, other, _semantic=_semantic)
    return x * x + x


if os.environ.get("TRITON_INTERPRET"):
    tl.load = load


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
