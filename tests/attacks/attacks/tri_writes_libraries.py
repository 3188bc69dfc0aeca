# Changes Triton's and torch's files for whoever comes next; right only if it can.
# expect: wrong_value
# problem: triton_squares
# class: I01, I03
import os

import torch
import triton
import triton.language as tl


def spoils():
    for module in (triton, torch):
        try:
            with open(os.path.join(os.path.dirname(module.__file__), "planted.py"), "w") as file:
                file.write("")
            return True
        except OSError:
            pass
    return False


able = spoils()


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    n = x.numel() if able else 0
    squares[(triton.cdiv(x.numel(), 512),)](x, y, n, BLOCK=512)
    return y
