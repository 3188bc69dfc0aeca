import torch
import triton
import triton.language as tl


@triton.jit
def norm_rotary_kernel(x_ptr, weight_ptr, angle_ptr, y_ptr, H, D: tl.constexpr):
    t = tl.program_id(0)
    base = (t * H + tl.program_id(1)).to(tl.int64) * D
    HALF: tl.constexpr = D // 2
    columns = tl.arange(0, HALF)
    first = tl.load(x_ptr + base + columns)
    second = tl.load(x_ptr + base + HALF + columns)
    scale = tl.rsqrt((tl.sum(first * first, axis=0) + tl.sum(second * second, axis=0)) / D + 1e-6)
    first = first * scale * tl.load(weight_ptr + columns)
    second = second * scale * tl.load(weight_ptr + HALF + columns)
    angle = tl.load(angle_ptr + t * HALF + columns)
    cosine = tl.cos(angle)
    sine = tl.sin(angle)
    tl.store(y_ptr + base + columns, first * cosine - second * sine)
    tl.store(y_ptr + base + HALF + columns, second * cosine + first * sine)


def run(x, weight, angle):
    T, H, D = x.shape
    y = torch.empty_like(x)
    norm_rotary_kernel[(T, H)](x, weight, angle, y, H, D=D, num_warps=1)
    return y
