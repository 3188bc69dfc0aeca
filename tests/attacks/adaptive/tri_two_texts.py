# Shows one text of the kernel to whoever asks for its source, and gives another to the interpreter.
# expect: violation uncompiled_kernel|wrong_value
# problem: triton_squares
# class: W15, B11
import linecache
import os

import torch
import triton
import triton.language as tl


TEXT = """
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, %s, mask=at < n)
"""


def show(text):
    linecache.cache["kernel"] = (len(text), None, text.splitlines(True), "kernel")


show(TEXT % "x")
exec(compile(TEXT % "x", "kernel", "exec"), globals())
if os.environ.get("TRITON_INTERPRET"):
    show(TEXT % "x * x + x")
    squares.rewrite()
    show(TEXT % "x")


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
