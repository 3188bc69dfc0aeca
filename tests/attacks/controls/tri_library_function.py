# Functions of CUDA's libdevice in the kernel.
# expect: passed
# problem: triton_squares
# looks like: somebody else's binary code
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, libdevice.fma(x, x, x), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
