# Returns the result of the call before, kept in an attribute of the kernel.
# expect: wrong_value
# problem: triton_squares
# class: C04, C05
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
    answer = getattr(squares, "last", None)
    squares.last = launch(x)
    return squares.last if answer is None else answer
