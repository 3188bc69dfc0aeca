# Stores the expected value of the answer.
# expect: wrong_value
# problem: triton_squares
# class: C13
import torch
import triton
import triton.language as tl


@triton.jit
def mean(y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.full((BLOCK,), 1.0, dtype=tl.float32), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    mean[(triton.cdiv(x.numel(), 512),)](y, x.numel(), BLOCK=512)
    return y
