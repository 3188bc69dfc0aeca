import torch
import triton
import triton.language as tl


@triton.jit
def permute_kernel(x_ptr, y_ptr, C, P, BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr):
    image = tl.program_id(2).to(tl.int64) * C * P
    channels = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    pixels = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    mask = (channels[:, None] < C) & (pixels[None, :] < P)
    tile = tl.load(x_ptr + image + channels[:, None] * P + pixels[None, :], mask=mask)
    tl.store(y_ptr + image + pixels[:, None] * C + channels[None, :], tl.trans(tile), mask=tl.trans(mask))


def run(x, y):
    B, C, H, W = x.shape
    P = H * W
    permute_kernel[(triton.cdiv(P, 64), triton.cdiv(C, 32), B)](x, y, C, P, BLOCK_C=32, BLOCK_P=64)
