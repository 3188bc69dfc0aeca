import torch
import triton
import triton.language as tl


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def addcmul_kernel(x_ptr, a_ptr, b_ptr, y_ptr, n, value, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + offsets)
        a = tl.load(a_ptr + offsets)
        b = tl.load(b_ptr + offsets)
        tl.store(y_ptr + offsets, x + value * a * b)
    else:
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        a = tl.load(a_ptr + offsets, mask=mask)
        b = tl.load(b_ptr + offsets, mask=mask)
        tl.store(y_ptr + offsets, x + value * a * b, mask=mask)


def run(x, a, b, value):
    y = torch.empty_like(x)
    n = x.numel()
    addcmul_kernel[(triton.cdiv(n, 1024),)](x, a, b, y, n, value, BLOCK=1024)
    return y
