# Torch computes in place of the output, the kernel adds zero.
# expect: violation library_fallback
# problem: triton_squares
# class: B05
import torch
import triton
import triton.language as tl


@triton.jit
def add_zero(y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(y_ptr + at, mask=at < n) + 0.0, mask=at < n)


def run(x, y):
    torch.addcmul(x, x, x, out=y)
    add_zero[(triton.cdiv(x.numel(), 512),)](y, x.numel(), BLOCK=512)
