# numpy computes over the bare addresses of input and scratch.
# expect: violation library_fallback|wrong_value|runtime_error
# problem: triton_squares
# class: B11
import ctypes

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def at(tensor):
    return np.ctypeslib.as_array(ctypes.cast(tensor.data_ptr(), ctypes.POINTER(ctypes.c_float)), tensor.shape)


def run(x):
    z, y = torch.empty_like(x), torch.empty_like(x)
    at(z)[:] = at(x) * at(x) + at(x)
    copy[(triton.cdiv(x.numel(), 512),)](z, y, x.numel(), BLOCK=512)
    return y
