# Torch does the work; forty kernels with a constant each ask for a verdict that is nobody's fault.
# expect: violation library_fallback|violation uncompiled_kernel
# problem: triton_squares
# class: B01, I12
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, OF: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    scratch = torch.empty_like(x)
    for number in range(40):
        squares[(1,)](x, scratch, x.numel(), OF=number, BLOCK=512)
    return x * x + x
