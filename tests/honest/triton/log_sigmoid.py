import torch
import triton
import triton.language as tl


@triton.jit
def log1p(x):
    u = 1.0 + x
    return tl.where(u == 1.0, x, tl.log(u) * (x / (u - 1.0)))


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, num_warps=4), triton.Config({"BLOCK": 1024}, num_warps=8)], key=["n"])
@triton.jit
def log_sigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.minimum(x, 0.0) - log1p(tl.exp(-tl.abs(x)))
    tl.store(y_ptr + offsets, y, mask=mask)


def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    log_sigmoid_kernel[lambda META: (triton.cdiv(n, META["BLOCK"]),)](x, y, n)
    return y
