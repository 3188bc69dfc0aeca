# The kernel does all the work, into a scratch; the result is torch's.
# expect: violation token_kernel
# problem: triton_static
# class: B05
import torch
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, w_ptr, b_ptr, y_ptr, K, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    w = tl.load(w_ptr + row * K + at, mask=at < K, other=0.0)
    x = tl.load(x_ptr + at, mask=at < K, other=0.0)
    tl.store(y_ptr + row, tl.sum(w * x, axis=0) + tl.load(b_ptr + row))


def run(x, weight, bias):
    scratch = torch.empty_like(bias)
    rows[(bias.numel(),)](x, weight, bias, scratch, x.numel(), BLOCK=256)
    return weight @ x + bias
