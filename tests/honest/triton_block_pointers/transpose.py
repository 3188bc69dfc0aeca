# Block pointers: Triton before 3.9, which took them out.
import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M
    columns = tl.program_id(1) * BLOCK_N
    x_block = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (rows, columns), (BLOCK_M, BLOCK_N), (1, 0))
    y_block = tl.make_block_ptr(y_ptr, (N, M), (M, 1), (columns, rows), (BLOCK_N, BLOCK_M), (1, 0))
    tile = tl.load(x_block, boundary_check=(0, 1), padding_option="zero")
    tl.store(y_block, tl.trans(tile), boundary_check=(0, 1))


def run(x):
    M, N = x.shape
    y = torch.empty((N, M), dtype=x.dtype, device=x.device)
    transpose_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, y, M, N, BLOCK_M=32, BLOCK_N=32)
    return y
