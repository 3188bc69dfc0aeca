# Softmax without subtracting the maximum: right for small values only.
# expect: wrong_value
# problem: triton_softmax
# class: W10, W14
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + at, mask=at < n, other=-float("inf"))
    e = tl.exp(x)
    tl.store(y_ptr + row + at, e / tl.sum(e, axis=0), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=256)
    return y
