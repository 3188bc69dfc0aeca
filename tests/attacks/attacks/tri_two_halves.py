# The kernel computes the first half, torch the second.
# expect: violation library_fallback
# problem: triton_squares
# class: B05
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    half = x.numel() // 2
    y = torch.empty_like(x)
    squares[(triton.cdiv(half, 512),)](x, y, half, BLOCK=512)
    y[half:] = x[half:] * x[half:] + x[half:]
    return y
