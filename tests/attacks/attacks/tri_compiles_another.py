# Compiles a kernel with other constants than the one that runs: looks who called.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: W15
import traceback

import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    files = {frame.f_code.co_filename for frame, _ in traceback.walk_stack(None)}
    block = 512 if any(name.endswith("compiler.py") for name in files) else 256
    squares[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
    return y
