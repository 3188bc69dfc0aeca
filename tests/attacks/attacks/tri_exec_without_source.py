# A kernel made by exec, whose source nobody can read.
# expect: compile_error
# problem: triton_squares
# class: B11
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

exec(SOURCE % "x * x + x", globals())


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
