# Maximum and sum over the first 128 of 203 columns.
# expect: wrong_value
# problem: triton_softmax
# class: W07, W14
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + at, mask=at < n, other=-float("inf"))
    seen = at < 128
    e = tl.exp(x - tl.max(tl.where(seen, x, -float("inf")), axis=0))
    tl.store(y_ptr + row + at, e / tl.sum(tl.where(seen, e, 0.0), axis=0), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=256)
    return y
