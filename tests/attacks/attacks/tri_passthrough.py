# A kernel that copies the input.
# expect: wrong_value
# problem: triton_squares
# class: W04
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
