import torch
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x_ptr, y_ptr, P, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    best = float("-inf")
    for start in range(0, P, BLOCK):
        pixels = start + tl.arange(0, BLOCK)
        best = tl.maximum(best, tl.max(tl.load(x_ptr + plane * P + pixels, mask=pixels < P, other=float("-inf")), axis=0))
    tl.store(y_ptr + plane, best)


def run(x, y):
    B, C, H, W = x.shape
    pool_kernel[(B * C,)](x, y, H * W, BLOCK=1024)
