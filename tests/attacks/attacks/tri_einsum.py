# The product is einsum's; a kernel copies it.
# expect: violation library_fallback
# problem: triton_matmul
# class: B01, B05
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(a, b):
    z = torch.einsum("mk,kn->mn", a, b)
    y = torch.empty_like(z)
    copy[(triton.cdiv(z.numel(), 512),)](z, y, z.numel(), BLOCK=512)
    return y
