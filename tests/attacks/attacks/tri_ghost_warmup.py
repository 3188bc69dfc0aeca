# The kernel is only warmed up, which compiles it; torch does the work.
# expect: violation ghost_kernel
# problem: triton_squares
# class: B04
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    squares.warmup(x, x, x.numel(), BLOCK=512, grid=(1,))
    return x * x + x
