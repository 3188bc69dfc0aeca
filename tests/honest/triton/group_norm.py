import torch
import triton
import triton.language as tl


# A program for each image and group; the group's channels are contiguous.
@triton.jit
def group_norm_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, P, GROUPS: tl.constexpr, CHANNELS: tl.constexpr, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    size = CHANNELS * P
    base = group.to(tl.int64) * size
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + base + offsets, mask=offsets < size, other=0.0)
    mean = tl.sum(total, axis=0) / size
    square = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + offsets, mask=offsets < size, other=0.0)
        centred = tl.where(offsets < size, x - mean, 0.0)
        square += centred * centred
    scale = tl.rsqrt(tl.sum(square, axis=0) / size + 1e-5)
    first = (group % GROUPS) * CHANNELS
    for start in range(0, size, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < size
        channel = first + offsets // P
        x = tl.load(x_ptr + base + offsets, mask=mask)
        weight = tl.load(weight_ptr + channel, mask=mask)
        bias = tl.load(bias_ptr + channel, mask=mask)
        tl.store(y_ptr + base + offsets, (x - mean) * scale * weight + bias, mask=mask)


def run(x, weight, bias):
    B, C, H, W = x.shape
    y = torch.empty_like(x)
    group_norm_kernel[(B * 8,)](x, weight, bias, y, H * W, GROUPS=8, CHANNELS=C // 8, BLOCK=1024)
    return y
