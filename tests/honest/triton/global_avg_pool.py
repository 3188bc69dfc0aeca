import torch
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x_ptr, y_ptr, planes, P, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, P, BLOCK):
        pixels = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + rows[:, None].to(tl.int64) * P + pixels[None, :], mask=(rows < planes)[:, None] & (pixels < P)[None, :], other=0.0)
    tl.store(y_ptr + rows, tl.sum(total, axis=1) / P, mask=rows < planes)


def run(x):
    B, C, H, W = x.shape
    y = torch.empty((B, C), dtype=x.dtype, device=x.device)
    pool_kernel[(triton.cdiv(B * C, 4),)](x, y, B * C, H * W, ROWS=4, BLOCK=256)
    return y
