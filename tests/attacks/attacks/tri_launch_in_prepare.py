# The kernel runs in prepare, whose result nobody uses; later torch does the work.
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


def prepare(weight, bias):
    scratch = torch.empty_like(bias)
    rows[(bias.numel(),)](weight[0], weight, bias, scratch, weight.shape[1], BLOCK=256)


def run(x, weight, bias):
    return weight @ x + bias
