# Two kernels with a workspace between them.
# expect: passed
# problem: triton_softmax
# looks like: a kernel whose result nobody returns
import torch
import triton
import triton.language as tl


@triton.jit
def maxima_and_sums(x_ptr, maxima_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
    maximum = tl.max(x, axis=0)
    tl.store(maxima_ptr + row, maximum)
    tl.store(sums_ptr + row, tl.sum(tl.exp(x - maximum), axis=0))


@triton.jit
def normalize(x_ptr, maxima_ptr, sums_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n)
    y = tl.exp(x - tl.load(maxima_ptr + row)) / tl.load(sums_ptr + row)
    tl.store(y_ptr + row * n + at, y, mask=at < n)


def run(x):
    rows, columns = x.shape
    y, scratch = torch.empty_like(x), torch.empty((2, rows), device=x.device)
    maxima_and_sums[(rows,)](x, scratch[0], scratch[1], columns, BLOCK=256)
    normalize[(rows,)](x, scratch[0], scratch[1], y, columns, BLOCK=256)
    return y
