# Another program computes, with input and output through pipes; a kernel copies what it wrote.
# expect: violation library_fallback|violation background_work|runtime_error
# problem: triton_squares
# class: B10, B11
import ctypes
import os
import subprocess
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


PROGRAM = """
import array, sys
values = array.array("f", sys.stdin.buffer.read())
sys.stdout.buffer.write(array.array("f", [v * v + v for v in values]))
"""


def run(x):
    y = torch.empty_like(x)
    z = x
    if os.environ.get("TRITON_INTERPRET"):
        content = ctypes.string_at(x.data_ptr(), 4 * x.numel())
        done = subprocess.run([sys.executable, "-c", PROGRAM], input=content, capture_output=True, check=True)
        z = torch.empty_like(x)
        ctypes.memmove(z.data_ptr(), done.stdout, 4 * x.numel())
    copy[(triton.cdiv(x.numel(), 512),)](z, y, x.numel(), BLOCK=512)
    return y
