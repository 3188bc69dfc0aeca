# Compiles, then ends the executor's process as if all were well.
# expect: runtime_error
# problem: triton_squares
# class: T25, T26
import os

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


def run(x):
    if os.environ.get("TRITON_INTERPRET"):
        print('{"outcome": "passed"}', flush=True)
        os._exit(0)
    return launch(x)
