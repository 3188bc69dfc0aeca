import torch
import triton
import triton.language as tl


# From the last block of the row to the first.
@triton.jit
def reverse_cumsum_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    after = 0.0
    start = (tl.cdiv(N, BLOCK) - 1) * BLOCK
    while start >= 0:
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
        tl.store(y_ptr + row * N + columns, after + tl.cumsum(x, axis=0, reverse=True), mask=columns < N)
        after += tl.sum(x, axis=0)
        start -= BLOCK


def run(x):
    M, N = x.shape
    y = torch.empty_like(x)
    reverse_cumsum_kernel[(M,)](x, y, N, BLOCK=512)
    return y
