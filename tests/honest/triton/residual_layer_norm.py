import torch
import triton
import triton.language as tl


@triton.jit
def residual_layer_norm_kernel(x_ptr, residual_ptr, weight_ptr, bias_ptr, y_ptr, new_residual_ptr, N: tl.constexpr):
    columns = tl.arange(0, N)
    offsets = tl.program_id(0).to(tl.int64) * N + columns
    total = tl.load(x_ptr + offsets) + tl.load(residual_ptr + offsets)
    tl.store(new_residual_ptr + offsets, total)
    centred = total - tl.sum(total, axis=0) / N
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / N + 1e-5)
    y = centred * scale * tl.load(weight_ptr + columns) + tl.load(bias_ptr + columns)
    tl.store(y_ptr + offsets, y)


def run(x, residual, weight, bias, y, new_residual):
    M, N = x.shape
    residual_layer_norm_kernel[(M,)](x, residual, weight, bias, y, new_residual, N=N, num_warps=4)
