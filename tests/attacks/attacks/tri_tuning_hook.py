# The autotuner's pre-hook, in torch, does the work; the kernel adds zero.
# expect: violation library_fallback
# problem: triton_squares
# class: B05, B11
import torch
import triton
import triton.language as tl


def compute(arguments):
    torch.addcmul(arguments["x_ptr"], arguments["x_ptr"], arguments["x_ptr"], out=arguments["y_ptr"])


@triton.autotune(configs=[triton.Config({"BLOCK": 512}, pre_hook=compute)], key=["n"])
@triton.jit
def add_zero(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(y_ptr + at, mask=at < n) + 0.0, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    add_zero[(triton.cdiv(x.numel(), 512),)](x, y, x.numel())
    return y
