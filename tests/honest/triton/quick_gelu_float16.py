import torch
import triton
import triton.language as tl


@triton.jit
def quick_gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offsets = tl.max_contiguous(tl.multiple_of(offsets, BLOCK), BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(1.702 * x)).to(tl.float16), mask=mask)


def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    quick_gelu_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y
