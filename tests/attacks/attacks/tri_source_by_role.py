# Builds the kernel from text, another text where it is interpreted.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: B11, W15
import linecache
import os

import torch
import triton
import triton.language as tl


SOURCE = """
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, %s, mask=at < n)
"""

text = SOURCE % ("x * x + x" if os.environ.get("TRITON_INTERPRET") else "x")
linecache.cache["kernel"] = (len(text), None, text.splitlines(True), "kernel")
exec(compile(text, "kernel", "exec"), globals())


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
