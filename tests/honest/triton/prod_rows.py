import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def prod_kernel(x_ptr, y_ptr, M, N: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    x = tl.load(x_ptr + rows[:, None] * N + tl.arange(0, N)[None, :], mask=rows[:, None] < M, other=1.0)
    tl.store(y_ptr + rows, tl.reduce(x, axis=1, combine_fn=multiply), mask=rows < M)


def run(x):
    M, N = x.shape
    y = torch.empty(M, dtype=x.dtype, device=x.device)
    prod_kernel[(triton.cdiv(M, 64),)](x, y, M, N, ROWS=64)
    return y
