import torch
import triton
import triton.language as tl


@triton.jit
def all_kernel(x_ptr, threshold_ptr, held_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    threshold = tl.load(threshold_ptr + rows, mask=rows < M, other=0.0)
    held = tl.full((BLOCK_M,), 1, tl.int32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        mask = (rows < M)[:, None] & (columns < N)[None, :]
        x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
        less = (x < threshold[:, None]) | (columns >= N)[None, :]
        held &= tl.min(less.to(tl.int32), axis=1)
    tl.store(held_ptr + rows, held.to(tl.int1), mask=rows < M)


def run(x, threshold, held):
    M, N = x.shape
    all_kernel[(triton.cdiv(M, 8),)](x, threshold, held, M, N, BLOCK_M=8, BLOCK_N=128)
