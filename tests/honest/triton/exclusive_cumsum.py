import torch
import triton
import triton.language as tl


# The inclusive scan of the row shifted by one.
@triton.jit
def cumsum_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    before = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + columns - 1, mask=(columns > 0) & (columns < N), other=0.0)
        tl.store(y_ptr + row * N + columns, before + tl.cumsum(x), mask=columns < N)
        before += tl.sum(x)


def run(x):
    M, N = x.shape
    y = torch.empty_like(x)
    cumsum_kernel[(M,)](x, y, N, BLOCK=512)
    return y
