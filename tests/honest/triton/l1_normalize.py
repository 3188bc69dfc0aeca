import torch
import triton
import triton.language as tl


@triton.jit
def l1_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row * N + columns, x / tl.sum(tl.abs(x), axis=0), mask=columns < N)


def run(x, y):
    M, N = x.shape
    l1_kernel[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
