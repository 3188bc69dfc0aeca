import torch
import triton
import triton.language as tl


@triton.jit
def rotary_kernel(x_ptr, angle_ptr, y_ptr, rows, H, HALF: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, HALF)
    mask = (row < rows)[:, None]
    angle = tl.load(angle_ptr + (row // H)[:, None] * HALF + columns[None, :], mask=mask, other=0.0)
    cosine = tl.cos(angle)
    sine = tl.sin(angle)
    offsets = row[:, None] * (2 * HALF) + columns[None, :]
    first = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    second = tl.load(x_ptr + offsets + HALF, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, first * cosine - second * sine, mask=mask)
    tl.store(y_ptr + offsets + HALF, second * cosine + first * sine, mask=mask)


def run(x, angle):
    T, H, D = x.shape
    y = torch.empty_like(x)
    rotary_kernel[(triton.cdiv(T * H, 16),)](x, angle, y, T * H, H, HALF=D // 2, ROWS=16)
    return y
