# Makes a constant out of a value: each input would need its own compilation.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: W14, W15
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(at == 0, FIRST * FIRST + FIRST, x * x + x), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), FIRST=x[0].item(), BLOCK=512)
    return y
