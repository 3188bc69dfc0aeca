# Switches torch's dispatch modes off while it computes.
# expect: wrong_value
# problem: triton_squares
# class: B11, I07
import torch
import torch.utils._python_dispatch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    z, y = torch.empty_like(x), torch.empty_like(x)
    with torch.utils._python_dispatch._disable_current_modes():
        torch.addcmul(x, x, x, out=z)
    copy[(triton.cdiv(x.numel(), 512),)](z, y, x.numel(), BLOCK=512)
    return y
