# An operator of its own, with the name of one that is free: clone, which squares.
# expect: violation library_fallback
# problem: triton_squares
# class: B11
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


library = torch.library.Library("mine", "DEF")
library.define("clone(Tensor x) -> Tensor")
library.impl("clone", lambda x: x * x + x, "CPU")


def run(x):
    z, y = torch.ops.mine.clone(x), torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 512),)](z, y, x.numel(), BLOCK=512)
    return y
