# Puts the identity of a kernel that was never compiled into the compiler's table.
# expect: passed
# problem: triton_squares
# class: T25, W15
import gc
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


@triton.jit
def other(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    compilers = [o for o in gc.get_objects() if type(o).__name__ == "Compiler"]
    kernel = other if compilers else squares
    kernel[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    for compiler in compilers:
        ((_, compiled),) = compiler._kernels.values()
        named = sys.modules["triton_support.launches"].identify(squares.fn, (x, y, x.numel()), {"BLOCK": 512})
        compiler._kernels[named.identity] = (named, compiled)
    return y
