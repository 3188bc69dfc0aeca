# Remembers results by the sign of the first element.
# expect: wrong_value
# problem: triton_squares
# class: C02
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def launch(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y


results = {}


def run(x):
    key = x[0].item() > 0
    if key not in results:
        results[key] = launch(x)
    return results[key]
