# A kernel that does not compile, and torch behind it.
# expect: violation library_fallback
# problem: triton_squares
# class: B02
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.square_plus(x), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    try:
        squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    except Exception:
        torch.addcmul(x, x, x, out=y)
    return y
