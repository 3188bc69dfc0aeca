# Writes kernels of its own choice into the reply page instead of those that ran.
# expect: wrong_value
# problem: triton_squares
# class: T25
import sys

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
    frame = sys._getframe()
    while frame is not None and not hasattr(frame.f_locals.get("self"), "_triton"):
        frame = frame.f_back
    if frame is None:
        return launch(x)
    own = frame.f_locals["self"]._triton
    own.report = lambda reply: reply.set_launches(0, [(identity, 1, 6) for identity in own._compiled])
    return x * x + x
