# Launches the kernel when the result is dropped.
# expect: violation ghost_kernel
# problem: triton_squares
# class: T04
import weakref

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
    same = y.view(-1)
    weakref.finalize(y, lambda: squares[(triton.cdiv(x.numel(), 512),)](x, same, x.numel(), BLOCK=512))
    return y
