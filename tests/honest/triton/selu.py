import torch
import triton
import triton.language as tl


@triton.jit
def expm1(x):
    p = 1.0 / 40320.0 * x + 1.0 / 5040.0
    for divisor in tl.static_range(6, 1, -1):
        if divisor == 6:
            p = p * x + 1.0 / 720.0
        elif divisor == 5:
            p = p * x + 1.0 / 120.0
        elif divisor == 4:
            p = p * x + 1.0 / 24.0
        elif divisor == 3:
            p = p * x + 1.0 / 6.0
        else:
            p = p * x + 0.5
    return tl.where(x > -0.35, x + x * x * p, tl.exp(x) - 1.0)


@triton.jit
def selu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, SCALE: tl.constexpr, ALPHA: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = SCALE * tl.where(x > 0, x, ALPHA * expm1(tl.minimum(x, 0.0)))
    tl.store(y_ptr + offsets, y, mask=mask)


def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    selu_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024, SCALE=1.0507009873554805, ALPHA=1.6732632423543772)
    return y
