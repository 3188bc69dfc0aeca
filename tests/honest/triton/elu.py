import torch
import triton
import triton.language as tl


# exp(x) - 1; near zero by its series, where the difference cancels.
@triton.jit
def expm1(x):
    p = 1.0 / 40320.0 * x + 1.0 / 5040.0
    p = p * x + 1.0 / 720.0
    p = p * x + 1.0 / 120.0
    p = p * x + 1.0 / 24.0
    p = p * x + 1.0 / 6.0
    p = p * x + 0.5
    return tl.where(tl.abs(x) < 0.35, x + x * x * p, tl.exp(x) - 1.0)


@triton.jit
def elu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, tl.where(x > 0, x, expm1(tl.minimum(x, 0.0))), mask=mask)


def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    elu_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
