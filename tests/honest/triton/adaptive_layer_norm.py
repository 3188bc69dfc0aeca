import torch
import triton
import triton.language as tl


@triton.jit
def adaptive_layer_norm_kernel(x_ptr, shift_ptr, scale_ptr, y_ptr, T, C: tl.constexpr):
    t = tl.program_id(0)
    b = tl.program_id(1)
    columns = tl.arange(0, C)
    row = (b * T + t).to(tl.int64)
    x = tl.load(x_ptr + row * C + columns)
    centred = x - tl.sum(x, axis=0) / C
    normal = centred * tl.rsqrt(tl.sum(centred * centred, axis=0) / C + 1e-6)
    shift = tl.load(shift_ptr + b * C + columns)
    scale = tl.load(scale_ptr + b * C + columns)
    tl.store(y_ptr + row * C + columns, normal * (1.0 + scale) + shift)


def run(x, shift, scale):
    B, T, C = x.shape
    y = torch.empty_like(x)
    adaptive_layer_norm_kernel[(T, B)](x, shift, scale, y, T, C=C)
    return y
