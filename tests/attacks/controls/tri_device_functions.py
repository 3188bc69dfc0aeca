# Functions of the device that call each other, and a loop that the compiler unrolls.
# expect: passed
# problem: triton_squares
# looks like: functions that no launch names
import torch
import triton
import triton.language as tl


@triton.jit
def square(x):
    return x * x


@triton.jit
def square_plus(x):
    return square(x) + x


@triton.jit
def squares(x_ptr, y_ptr, n, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    for part in tl.static_range(PARTS):
        at = (tl.program_id(0) * PARTS + part) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        tl.store(y_ptr + at, square_plus(x), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), PARTS=4, BLOCK=128)
    return y
