import torch
import triton
import triton.language as tl


@triton.jit
def rotary_kernel(x_ptr, angle_ptr, y_ptr, rows, H, D: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    mask = (row < rows)[:, None]
    columns = tl.arange(0, D)
    pairs = tl.arange(0, D // 2)
    angle = tl.load(angle_ptr + (row // H)[:, None] * (D // 2) + pairs[None, :], mask=mask, other=0.0)
    x = tl.load(x_ptr + row[:, None] * D + columns[None, :], mask=mask, other=0.0)
    even, odd = tl.split(tl.reshape(x, (ROWS, D // 2, 2)))
    cosine = tl.cos(angle)
    sine = tl.sin(angle)
    y = tl.join(even * cosine - odd * sine, odd * cosine + even * sine)
    tl.store(y_ptr + row[:, None] * D + columns[None, :], tl.reshape(y, (ROWS, D)), mask=mask)


def run(x, angle, y):
    T, H, D = x.shape
    rotary_kernel[(triton.cdiv(T * H, 16),)](x, angle, y, T * H, H, D=D, ROWS=16)
