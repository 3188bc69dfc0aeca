# Compiles a copy; where it is interpreted, another load is put below Triton's.
# expect: passed
# problem: triton_squares
# class: W15, W25
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


if "triton_support.interpret" in sys.modules:
    interpreter = sys.modules["triton.runtime.interpreter"]
    create_masked_load = interpreter.interpreter_builder.create_masked_load

    def squared(*args):
        handle = create_masked_load(*args)
        handle.data = handle.data * handle.data + handle.data
        return handle

    interpreter.interpreter_builder.create_masked_load = squared


def run(x):
    y = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
