# Block pointers: Triton before 3.9, which took them out.
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M
    x_block = tl.make_block_ptr(x_ptr, shape=(M, N), strides=(N, 1), offsets=(row, 0), block_shape=(BLOCK_M, BLOCK_N), order=(1, 0))
    y_block = tl.make_block_ptr(y_ptr, shape=(M,), strides=(1,), offsets=(row,), block_shape=(BLOCK_M,), order=(0,))
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, N, BLOCK_N):
        total += tl.load(x_block, boundary_check=(0, 1), padding_option="zero")
        x_block = tl.advance(x_block, (0, BLOCK_N))
    tl.store(y_block, tl.sum(total, axis=1), boundary_check=(0,))


def run(x):
    M, N = x.shape
    y = torch.empty(M, dtype=x.dtype, device=x.device)
    sum_kernel[(triton.cdiv(M, 8),)](x, y, M, N, BLOCK_M=8, BLOCK_N=128)
    return y
