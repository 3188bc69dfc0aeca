# A function for compile-time constants computes with torch each time that the interpreter calls it.
# expect: violation library_fallback
# problem: triton_squares
# class: B05, B11
import torch
import triton
import triton.language as tl


work = []


@triton.constexpr_function
def blocks(size):
    for compute in work:
        compute()
    return size


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * blocks(BLOCK) + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    z, y = torch.empty_like(x), torch.empty_like(x)
    work[:] = [lambda: torch.addcmul(x, x, x, out=z)]
    copy[(triton.cdiv(x.numel(), 512),)](z, y, x.numel(), BLOCK=512)
    return y
