# The kernel writes to a scratch; what is returned was never written.
# expect: wrong_value
# problem: triton_squares
# class: W01, B05
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    scratch = torch.empty(x.numel(), device=x.device)
    squares[(triton.cdiv(x.numel(), 512),)](x, scratch, x.numel(), BLOCK=512)
    return torch.empty_like(x)
