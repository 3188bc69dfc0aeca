# Torch multiplies, the kernel copies the result. Libraries are allowed here: only a time would count.
# expect: passed
# problem: triton_static
# class: B05
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x, weight, bias):
    z, y = weight @ x + bias, torch.empty_like(bias)
    copy[(1,)](z, y, y.numel(), BLOCK=128)
    return y
