import torch
import triton
import triton.language as tl


@triton.jit
def scatter_kernel(x_ptr, index_ptr, y_ptr, T, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, D)
    mask = (rows < T)[:, None]
    index = tl.load(index_ptr + rows, mask=rows < T, other=0)
    x = tl.load(x_ptr + rows[:, None] * D + columns[None, :], mask=mask, other=0.0)
    tl.atomic_add(y_ptr + index[:, None] * D + columns[None, :], x, mask=mask, sem="relaxed")


def run(x, index):
    T, D = x.shape
    y = torch.zeros((2048, D), dtype=x.dtype, device=x.device)
    scatter_kernel[(triton.cdiv(T, 4),)](x, index, y, T, D=D, ROWS=4)
    return y
