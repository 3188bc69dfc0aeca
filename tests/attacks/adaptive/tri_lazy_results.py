# A tuple of results that computes when the executor looks into it: the call is over, and counted.
# expect: violation library_fallback|wrong_value|wrong_shape
# problem: triton_squares
# class: B05, T05
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


class Results(tuple):
    def __iter__(self):
        x, z = self[0], torch.empty_like(self[0])
        torch.addcmul(x, x, x, out=z)
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 512),)](z, y, x.numel(), BLOCK=512)
        return iter((y,))


def run(x):
    y = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return Results((x,))
