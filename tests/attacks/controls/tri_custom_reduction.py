# A reduction with a function of its own, and a scan whose last element is the sum.
# expect: passed
# problem: triton_softmax
# looks like: functions handed to functions
import torch
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + at, mask=at < n, other=-float("inf"))
    e = tl.exp(x - tl.reduce(x, 0, larger))
    sums = tl.associative_scan(e, 0, add)
    total = tl.sum(tl.where(at == BLOCK - 1, sums, 0.0), axis=0)
    tl.store(y_ptr + row + at, e / total, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=256)
    return y
