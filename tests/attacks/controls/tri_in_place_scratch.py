# Changes a copy of the input in place, twice, and returns it.
# expect: passed
# problem: triton_squares
# looks like: kernels that write to their input
import torch
import triton
import triton.language as tl


@triton.jit
def add_one(y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(y_ptr + at, mask=at < n) + 1.0, mask=at < n)


@triton.jit
def multiply(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(y_ptr + at, y * tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    y = x.clone()
    grid = (triton.cdiv(x.numel(), 512),)
    add_one[grid](y, x.numel(), BLOCK=512)
    multiply[grid](x, y, x.numel(), BLOCK=512)
    return y
