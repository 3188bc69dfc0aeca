# The kernel runs when the file is imported; later torch does the work.
# expect: violation token_kernel
# problem: triton_static
# class: B05, T13
import torch
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, w_ptr, b_ptr, y_ptr, K, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    w = tl.load(w_ptr + row * K + at, mask=at < K, other=0.0)
    x = tl.load(x_ptr + at, mask=at < K, other=0.0)
    tl.store(y_ptr + row, tl.sum(w * x, axis=0) + tl.load(b_ptr + row))


ones = torch.ones(150, device="cuda")
scratch = torch.empty(1, device="cuda")
rows[(1,)](ones, ones, ones, scratch, 150, BLOCK=256)


def run(x, weight, bias):
    return weight @ x + bias
