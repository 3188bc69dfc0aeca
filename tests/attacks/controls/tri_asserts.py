# Asserts everywhere: of the host, of the compiler, of the device.
# expect: passed
# problem: triton_squares
# looks like: code that may fail on purpose
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 16)
    tl.device_assert(n > 0)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    assert x.is_cuda and x.dtype == torch.float32, "float32 on a GPU"
    assert x.is_contiguous()
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
