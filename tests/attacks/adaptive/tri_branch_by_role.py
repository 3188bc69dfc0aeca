# A branch that the compiler drops, and the interpreter takes: there a constant is a plain number.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: W15, B11
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    if isinstance(n, tl.tensor) and hasattr(n.handle, "data"):
        x = x * x + x
    tl.store(y_ptr + at, x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
