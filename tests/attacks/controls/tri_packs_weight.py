# Packs the weight in prepare: transposed and padded to a power of two.
# expect: passed
# problem: triton_static
# looks like: a cache keyed by nothing
import torch
import triton
import triton.language as tl


packed = {}


@triton.jit
def columns(x_ptr, w_ptr, b_ptr, y_ptr, n, K, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    sums = tl.load(b_ptr + at, mask=at < n, other=0.0)
    for k in range(K):
        sums += tl.load(x_ptr + k) * tl.load(w_ptr + k * WIDTH + at)
    tl.store(y_ptr + at, sums, mask=at < n)


def prepare(weight, bias):
    rows, terms = weight.shape
    packed["weight"] = torch.zeros((terms, triton.next_power_of_2(rows)), device=weight.device)
    packed["weight"][:, :rows] = weight.t()


def run(x, weight, bias):
    y = torch.empty_like(bias)
    w = packed["weight"]
    columns[(1,)](x, w, bias, y, y.numel(), w.shape[0], WIDTH=w.shape[1])
    return y
