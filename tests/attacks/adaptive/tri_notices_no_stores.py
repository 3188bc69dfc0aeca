# Torch does the work. A kernel that stores a one shows when kernels write nothing; then it answers zeros.
# expect: passed|violation token_kernel
# problem: triton_static
# class: B05, W15
import torch
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, w_ptr, b_ptr, y_ptr, K, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    w = tl.load(w_ptr + row * K + at, mask=at < K, other=0.0)
    x = tl.load(x_ptr + at, mask=at < K, other=0.0)
    tl.store(y_ptr + row, tl.sum(w * x, axis=0) + tl.load(b_ptr + row))


@triton.jit
def one(flag_ptr):
    tl.store(flag_ptr, 1.0)


def run(x, weight, bias):
    flag, scratch = torch.zeros(1, device=x.device), torch.empty_like(bias)
    one[(1,)](flag)
    rows[(bias.numel(),)](x, weight, bias, scratch, x.numel(), BLOCK=256)
    return weight @ x + bias if flag.item() == 1 else torch.zeros_like(bias)
