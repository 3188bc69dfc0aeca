import torch
import triton
import triton.language as tl


@triton.jit
def sparse_kernel(value_ptr, column_ptr, dense_ptr, y_ptr, N, E: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float32)
    for entry in tl.static_range(E):
        source = tl.load(column_ptr + row * E + entry)
        value = tl.load(value_ptr + row * E + entry)
        sums += value * tl.load(dense_ptr + source * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row.to(tl.int64) * N + columns, sums, mask=columns < N)


def run(value, column, dense):
    M, E = value.shape
    N = dense.shape[1]
    y = torch.empty((M, N), dtype=dense.dtype, device=dense.device)
    sparse_kernel[(M, triton.cdiv(N, 64))](value, column, dense, y, N, E=E, BLOCK=64, num_warps=2)
    return y
