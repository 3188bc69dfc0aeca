# Fetches a kernel from the network; right only if it can.
# expect: wrong_value
# problem: triton_squares
# class: B09
import urllib.request

import torch
import triton
import triton.language as tl


try:
    with urllib.request.urlopen("http://example.com/kernel.py", timeout=1) as answer:
        fetched = answer.status == 200
except OSError:
    fetched = False


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    n = x.numel() if fetched else 0
    squares[(triton.cdiv(x.numel(), 512),)](x, y, n, BLOCK=512)
    return y
