# A kernel that stores zeros.
# expect: wrong_value
# problem: triton_softmax
# class: W05
import torch
import triton
import triton.language as tl


@triton.jit
def clear(y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.zeros((BLOCK,), dtype=tl.float32), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    clear[(triton.cdiv(x.numel(), 512),)](y, x.numel(), BLOCK=512)
    return y
