import torch
import triton
import triton.language as tl


# For each tap a product of weight[:, :, tap] with the shifted input.
@triton.jit
def conv_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, L,
    C_IN: tl.constexpr, C_OUT: tl.constexpr, K: tl.constexpr, PADDING: tl.constexpr, BLOCK_L: tl.constexpr,
):
    image = tl.program_id(1).to(tl.int64)
    places = tl.program_id(0) * BLOCK_L + tl.arange(0, BLOCK_L)
    ins = tl.arange(0, C_IN)
    outs = tl.arange(0, C_OUT)
    sums = tl.zeros((C_OUT, BLOCK_L), tl.float32)
    for tap in range(K):
        source = places + tap - PADDING
        x = tl.load(x_ptr + image * C_IN * L + ins[:, None] * L + source[None, :], mask=((source >= 0) & (source < L))[None, :], other=0.0)
        weight = tl.load(weight_ptr + outs[:, None] * (C_IN * K) + ins[None, :] * K + tap)
        sums = tl.dot(weight, x, sums, input_precision="ieee")
    y = sums + tl.load(bias_ptr + outs)[:, None]
    tl.store(y_ptr + image * C_OUT * L + outs[:, None] * L + places[None, :], y, mask=(places < L)[None, :])


def run(x, weight, bias):
    B, C_in, L = x.shape
    C_out, _, K = weight.shape
    y = torch.empty((B, C_out, L), dtype=x.dtype, device=x.device)
    conv_kernel[(triton.cdiv(L, 32), B)](x, weight, bias, y, L, C_IN=C_in, C_OUT=C_out, K=K, PADDING=2, BLOCK_L=32)
    return y
