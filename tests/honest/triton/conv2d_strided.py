import torch
import triton
import triton.language as tl


@triton.jit
def conv_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, H, W, H_out, W_out,
    C_IN: tl.constexpr, C_OUT: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_O: tl.constexpr,
):
    image = tl.program_id(2)
    pixels = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    outs = tl.program_id(1) * BLOCK_O + tl.arange(0, BLOCK_O)
    channels = tl.arange(0, C_IN)
    row = pixels // W_out
    column = pixels % W_out
    sums = tl.zeros((BLOCK_O, BLOCK_P), tl.float32)
    for r in range(3):
        for s in range(3):
            h = 2 * row + r - 1
            w = 2 * column + s - 1
            inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & (row < H_out)
            x = tl.load(x_ptr + (image * C_IN + channels)[:, None] * (H * W) + (h * W + w)[None, :], mask=inside[None, :], other=0.0)
            weight = tl.load(weight_ptr + (outs[:, None] * C_IN + channels[None, :]) * 9 + r * 3 + s)
            sums = tl.dot(weight, x, sums, input_precision="ieee")
    y = sums + tl.load(bias_ptr + outs)[:, None]
    tl.store(y_ptr + (image * C_OUT + outs)[:, None] * (H_out * W_out) + pixels[None, :], y, mask=(row < H_out)[None, :])


def run(x, weight, bias, y):
    B, C_in, H, W = x.shape
    _, C_out, H_out, W_out = y.shape
    grid = (triton.cdiv(H_out * W_out, 32), C_out // 32, B)
    conv_kernel[grid](x, weight, bias, y, H, W, H_out, W_out, C_IN=C_in, C_OUT=C_out, BLOCK_P=32, BLOCK_O=32)
