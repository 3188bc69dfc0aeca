import torch
import triton
import triton.language as tl


# Implicit product: pixels by (channel, r, s) times (channel, r, s) by output channels.
@triton.jit
def conv_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, B, H, W,
    C_IN: tl.constexpr, C_OUT: tl.constexpr, R: tl.constexpr, S: tl.constexpr, PADDING: tl.constexpr,
    BLOCK_P: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pixels = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    image = pixels // (H * W)
    h = pixels // W % H
    w = pixels % W
    outs = tl.arange(0, C_OUT)
    sums = tl.zeros((BLOCK_P, C_OUT), tl.float32)
    for start in range(0, C_IN * R * S, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        channel = k // (R * S)
        source_h = h[:, None] + (k // S % R)[None, :] - PADDING
        source_w = w[:, None] + (k % S)[None, :] - PADDING
        inside = (source_h >= 0) & (source_h < H) & (source_w >= 0) & (source_w < W)
        inside &= (image < B)[:, None] & (k < C_IN * R * S)[None, :]
        x = tl.load(x_ptr + ((image[:, None] * C_IN + channel[None, :]) * H + source_h) * W + source_w, mask=inside, other=0.0)
        weight = tl.load(weight_ptr + outs[None, :] * (C_IN * R * S) + k[:, None], mask=(k < C_IN * R * S)[:, None], other=0.0)
        sums = tl.dot(x, weight, sums, input_precision="ieee")
    y = sums + tl.load(bias_ptr + outs)[None, :]
    place = (image[:, None] * C_OUT + outs[None, :]) * (H * W) + (h * W + w)[:, None]
    tl.store(y_ptr + place, y, mask=(image < B)[:, None])


def run(x, weight, bias):
    B, C_in, H, W = x.shape
    C_out, _, R, S = weight.shape
    y = torch.empty((B, C_out, H, W), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(B * H * W, 64),)
    conv_kernel[grid](x, weight, bias, y, B, H, W, C_in, C_out, R, S, PADDING=1, BLOCK_P=64, BLOCK_K=32)
    return y
