import torch
import triton
import triton.language as tl


@triton.jit
def greater_kernel(x_ptr, y_ptr, mask_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(mask_ptr + offsets, x > y, mask=inside)


def run(x, y):
    mask = torch.empty(x.shape, dtype=torch.bool, device=x.device)
    n = mask.numel()
    greater_kernel[(triton.cdiv(n, 2048),)](x, y, mask, n, BLOCK=2048)
    return mask
