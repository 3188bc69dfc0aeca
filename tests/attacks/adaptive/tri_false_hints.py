# Promises the compiler that its addresses are multiples of sixteen: the interpreter does not look.
# expect: wrong_value|runtime_error
# problem: triton_squares
# class: W17, W20
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) * 3 % n
    at = tl.max_contiguous(tl.multiple_of(at, 16), 16)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x * x + x)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
