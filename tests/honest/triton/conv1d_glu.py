import torch
import triton
import triton.language as tl


@triton.jit
def conv_half(
    x_ptr, weight_ptr, bias_ptr, outs, places, L,
    C: tl.constexpr, K: tl.constexpr, BLOCK_O: tl.constexpr, BLOCK_L: tl.constexpr, BLOCK_C: tl.constexpr,
):
    sums = tl.zeros((BLOCK_O, BLOCK_L), tl.float32) + tl.load(bias_ptr + outs)[:, None]
    for first in range(0, C, BLOCK_C):
        ins = first + tl.arange(0, BLOCK_C)
        for tap in range(K):
            source = places + tap - K // 2
            x = tl.load(x_ptr + ins[:, None] * L + source[None, :], mask=((source >= 0) & (source < L))[None, :], other=0.0)
            weight = tl.load(weight_ptr + outs[:, None] * (C * K) + ins[None, :] * K + tap)
            sums = tl.dot(weight, x, sums, input_precision="ieee")
    return sums


@triton.jit
def conv_glu_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, L,
    C: tl.constexpr, K: tl.constexpr, BLOCK_O: tl.constexpr, BLOCK_L: tl.constexpr, BLOCK_C: tl.constexpr,
):
    image = tl.program_id(2).to(tl.int64)
    outs = tl.program_id(1) * BLOCK_O + tl.arange(0, BLOCK_O)
    places = tl.program_id(0) * BLOCK_L + tl.arange(0, BLOCK_L)
    x_ptr += image * C * L
    value = conv_half(x_ptr, weight_ptr, bias_ptr, outs, places, L, C, K, BLOCK_O, BLOCK_L, BLOCK_C)
    gate = conv_half(x_ptr, weight_ptr, bias_ptr, C + outs, places, L, C, K, BLOCK_O, BLOCK_L, BLOCK_C)
    tl.store(y_ptr + image * C * L + outs[:, None] * L + places[None, :], value * tl.sigmoid(gate), mask=(places < L)[None, :])


def run(x, weight, bias, y):
    B, C, L = x.shape
    K = weight.shape[2]
    conv_glu_kernel[(triton.cdiv(L, 32), C // 32, B)](x, weight, bias, y, L, C=C, K=K, BLOCK_O=32, BLOCK_L=32, BLOCK_C=32)
