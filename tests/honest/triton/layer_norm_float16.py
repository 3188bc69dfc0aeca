import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({}, num_warps=w) for w in (2, 4, 8)],
    key=["M"],
)
@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, M, N: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + columns).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    centred = x - mean
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / N + 1e-5)
    weight = tl.load(weight_ptr + columns).to(tl.float32)
    bias = tl.load(bias_ptr + columns).to(tl.float32)
    tl.store(y_ptr + row * N + columns, (centred * scale * weight + bias).to(tl.float16))


def run(x, weight, bias):
    M, N = x.shape
    y = torch.empty_like(x)
    layer_norm_kernel[(M,)](x, weight, bias, y, M, N)
    return y
