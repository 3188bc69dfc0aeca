# The function that gives the grid computes with torch: launches are not counted.
# expect: violation library_fallback
# problem: triton_squares
# class: B05, B11
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    z, y = torch.empty_like(x), torch.empty_like(x)

    def grid(meta):
        torch.addcmul(x, x, x, out=z)
        return (triton.cdiv(x.numel(), meta["BLOCK"]),)

    copy[grid](z, y, x.numel(), BLOCK=512)
    return y
