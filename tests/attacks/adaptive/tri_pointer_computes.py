# An argument that computes with torch when the launch asks for its address.
# expect: violation library_fallback
# problem: triton_squares
# class: B05, T05
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


class Lazy:
    dtype = torch.float32

    def __init__(self, x):
        self.x, self.z = x, torch.empty_like(x)

    def data_ptr(self):
        torch.addcmul(self.x, self.x, self.x, out=self.z)
        return self.z.data_ptr()


def run(x):
    y = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 512),)](Lazy(x), y, x.numel(), BLOCK=512)
    return y
