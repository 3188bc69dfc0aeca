# Zeros its input and returns zeros: a reference that ran later would agree.
# expect: violation input_write
# problem: triton_squares
# class: W03
import torch
import triton
import triton.language as tl


@triton.jit
def clear(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    zeros = tl.zeros((BLOCK,), dtype=tl.float32)
    tl.store(x_ptr + at, zeros, mask=at < n)
    tl.store(y_ptr + at, zeros, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    clear[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
