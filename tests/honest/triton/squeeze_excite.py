import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, mean_ptr, P, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, P, BLOCK):
        pixels = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + plane * P + pixels, mask=pixels < P, other=0.0)
    tl.store(mean_ptr + plane, tl.sum(total, axis=0) / P)


@triton.jit
def share_kernel(mean_ptr, down_ptr, up_ptr, share_ptr, C: tl.constexpr, R: tl.constexpr):
    image = tl.program_id(0)
    channels = tl.arange(0, C)
    hidden = tl.arange(0, R)
    mean = tl.load(mean_ptr + image * C + channels)
    squeezed = tl.maximum(tl.sum(mean[:, None] * tl.load(down_ptr + channels[:, None] * R + hidden[None, :]), axis=0), 0.0)
    share = tl.sum(squeezed[:, None] * tl.load(up_ptr + hidden[:, None] * C + channels[None, :]), axis=0)
    tl.store(share_ptr + image * C + channels, tl.sigmoid(share))


@triton.jit
def scale_kernel(x_ptr, share_ptr, y_ptr, P, BLOCK: tl.constexpr):
    plane = tl.program_id(1).to(tl.int64)
    pixels = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + plane * P + pixels, mask=pixels < P)
    tl.store(y_ptr + plane * P + pixels, x * tl.load(share_ptr + plane), mask=pixels < P)


def run(x, down, up):
    B, C, H, W = x.shape
    P = H * W
    mean = torch.empty((B, C), dtype=torch.float32, device=x.device)
    share = torch.empty_like(mean)
    y = torch.empty_like(x)
    mean_kernel[(B * C,)](x, mean, P, BLOCK=512)
    share_kernel[(B,)](mean, down, up, share, C=C, R=down.shape[1])
    scale_kernel[(triton.cdiv(P, 512), B * C)](x, share, y, P, BLOCK=512)
    return y
