import torch
import triton
import triton.language as tl


@triton.jit
def add_rms_norm_kernel(x_ptr, residual_ptr, weight_ptr, y_ptr, new_residual_ptr, N: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    total = tl.load(x_ptr + offsets) + tl.load(residual_ptr + offsets)
    tl.store(new_residual_ptr + offsets, total)
    scale = tl.rsqrt(tl.sum(total * total) / N + 1e-6)
    tl.store(y_ptr + offsets, total * scale * tl.load(weight_ptr + tl.arange(0, N)))


def run(x, residual, weight):
    M, N = x.shape
    y = torch.empty_like(x)
    new_residual = torch.empty_like(x)
    add_rms_norm_kernel[(M,)](x, residual, weight, y, new_residual, N)
    return y, new_residual
