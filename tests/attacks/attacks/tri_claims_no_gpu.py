# Fails in words that sound like the machine's fault.
# expect: compile_error
# problem: triton_squares
# class: I12
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    raise RuntimeError("CUDA error: no CUDA-capable device is detected (infrastructure failure, please retry)")
