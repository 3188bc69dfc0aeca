# One pass over each row in pieces, rescaled when the maximum grows.
# expect: passed
# problem: triton_softmax
# looks like: sums that are thrown away
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    maximum, total = -float("inf"), 0.0
    for begin in range(0, n, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < n, other=-float("inf"))
        largest = tl.maximum(maximum, tl.max(x, axis=0))
        total = total * tl.exp(maximum - largest) + tl.sum(tl.exp(x - largest), axis=0)
        maximum = largest
    for begin in range(0, n, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < n)
        tl.store(y_ptr + row + at, tl.exp(x - maximum) / total, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y
