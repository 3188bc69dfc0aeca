import torch
import triton
import triton.language as tl


@triton.jit
def conv_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, P, C_IN: tl.constexpr, C_OUT: tl.constexpr,
    BLOCK_O: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr,
):
    image = tl.program_id(2).to(tl.int64)
    outs = tl.program_id(1) * BLOCK_O + tl.arange(0, BLOCK_O)
    pixels = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    sums = tl.zeros((BLOCK_O, BLOCK_P), tl.float32)
    for start in range(0, C_IN, BLOCK_C):
        channels = start + tl.arange(0, BLOCK_C)
        weight = tl.load(weight_ptr + outs[:, None] * C_IN + channels[None, :])
        x = tl.load(x_ptr + (image * C_IN + channels)[:, None] * P + pixels[None, :], mask=(pixels < P)[None, :], other=0.0)
        sums = tl.dot(weight, x, sums, input_precision="ieee")
    y = sums + tl.load(bias_ptr + outs)[:, None]
    tl.store(y_ptr + (image * C_OUT + outs)[:, None] * P + pixels[None, :], y, mask=(pixels < P)[None, :])


def run(x, weight, bias, y):
    B, C_in, H, W = x.shape
    C_out = weight.shape[0]
    grid = (triton.cdiv(H * W, 64), C_out // 64, B)
    conv_kernel[grid](x, weight, bias, y, H * W, C_in, C_out, BLOCK_O=64, BLOCK_P=64, BLOCK_C=32, num_warps=8)
