# A kernel where the inputs are all ones, as when it is compiled; torch elsewhere.
# expect: violation ghost_kernel
# problem: triton_squares
# class: B02, W15
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
    made_up = x[0].item() == 1 and x[1].item() == 1
    return launch(x) if made_up else x * x + x
