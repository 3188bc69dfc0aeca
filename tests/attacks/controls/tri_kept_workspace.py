# Keeps its workspace from call to call.
# expect: passed
# problem: triton_softmax
# looks like: a cache by shape
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


workspaces = {}


def run(x):
    rows, columns = x.shape
    if x.shape not in workspaces:
        workspaces[x.shape] = torch.empty((2, rows), device=x.device)
    maxima, sums = workspaces[x.shape]
    y = torch.empty_like(x)
    maxima_and_sums[(rows,)](x, maxima, sums, columns, BLOCK=256)
    normalize[(rows,)](x, maxima, sums, y, columns, BLOCK=256)
    return y
