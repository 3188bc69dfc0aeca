import torch
import triton
import triton.language as tl


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, y_ptr, M, N: tl.constexpr, ROWS: tl.constexpr):
    columns = tl.arange(0, N)
    bias = tl.load(bias_ptr + columns)
    first = tl.program_id(0) * ROWS
    for i in range(ROWS):
        row = first + i
        if row < M:
            x = tl.load(x_ptr + row * N + columns) + bias
            u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
            tl.store(y_ptr + row * N + columns, x * tl.sigmoid(2.0 * u))


def run(x, bias):
    M, N = x.shape
    y = torch.empty_like(x)
    bias_gelu_kernel[(triton.cdiv(M, 4),)](x, bias, y, M, N, ROWS=4)
    return y
