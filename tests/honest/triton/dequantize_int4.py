import torch
import triton
import triton.language as tl


@triton.jit
def dequantize_kernel(packed_ptr, scale_ptr, zero_point_ptr, y_ptr, groups, BYTES: tl.constexpr, ROWS: tl.constexpr):
    group = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    mask = (group < groups)[:, None]
    packed = tl.load(packed_ptr + group[:, None] * BYTES + tl.arange(0, BYTES)[None, :], mask=mask, other=0)
    scale = tl.load(scale_ptr + group, mask=group < groups, other=0.0)[:, None]
    zero_point = tl.load(zero_point_ptr + group, mask=group < groups, other=0.0)[:, None]
    low = ((packed & 15).to(tl.float32) - zero_point) * scale
    high = ((packed >> 4).to(tl.float32) - zero_point) * scale
    columns = tl.arange(0, 2 * BYTES)
    tl.store(y_ptr + group[:, None] * (2 * BYTES) + columns[None, :], tl.interleave(low, high), mask=mask)


def run(packed, scale, zero_point):
    M, G, BYTES = packed.shape
    y = torch.empty((M, G, 2 * BYTES), dtype=scale.dtype, device=packed.device)
    dequantize_kernel[(triton.cdiv(M * G, 16),)](packed, scale, zero_point, y, M * G, BYTES=BYTES, ROWS=16)
    return y
