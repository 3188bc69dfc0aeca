# A helper that appends to a list: right in Python, no kernel.
# expect: compile_error
# problem: triton_squares
# class: B11, W15
import torch
import triton
import triton.language as tl


seen = []


def helper(x):
    seen.append(x)
    return x * x + x


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, helper(x), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
