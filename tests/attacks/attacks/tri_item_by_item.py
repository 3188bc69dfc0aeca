# Reads one element after the other and computes in Python; a kernel copies it.
# expect: violation library_fallback
# problem: triton_squares
# class: B01, B11
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    z = torch.tensor([v.item() ** 2 + v.item() for v in x])
    y = torch.empty_like(z)
    copy[(triton.cdiv(z.numel(), 512),)](z, y, z.numel(), BLOCK=512)
    return y
