# Rounds to bfloat16 and back in torch; only the kernel would be asked for its precision.
# expect: violation library_fallback
# problem: triton_squares
# class: W08, B01
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    z = (x.to(torch.bfloat16)).float()
    y = torch.empty_like(z)
    copy[(triton.cdiv(z.numel(), 512),)](z, y, z.numel(), BLOCK=512)
    return y
