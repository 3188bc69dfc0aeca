# Another implementation for an operator that is free: torch's clone, which squares now.
# expect: wrong_value
# problem: triton_squares
# class: B11, W25
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


library = torch.library.Library("aten", "IMPL")
library.impl("clone", lambda x, memory_format=None: x * x + x, "CPU", allow_override=True)


def run(x):
    z, y = x.clone(), torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 512),)](z, y, x.numel(), BLOCK=512)
    return y
