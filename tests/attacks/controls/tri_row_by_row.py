# Launches a kernel for each row.
# expect: passed
# problem: triton_softmax
# looks like: a launch for every row
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = 0
    x = tl.load(x_ptr + row + at, mask=at < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row + at, e / tl.sum(e, axis=0), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    for given, result in zip(x, y):
        softmax[(1,)](given, result, x.shape[1], BLOCK=256)
    return y
