import torch
import triton
import triton.language as tl


# Two passes over a strip of columns: running maximum and sum, then the quotients.
@triton.jit
def softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = tl.arange(0, BLOCK_M)
    top = tl.full((BLOCK_N,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_N,), tl.float32)
    for start in range(0, M, BLOCK_M):
        mask = (start + rows < M)[:, None] & (columns < N)[None, :]
        x = tl.load(x_ptr + (start + rows)[:, None] * N + columns[None, :], mask=mask, other=float("-inf"))
        # A column behind the end holds -inf alone; 0 keeps it free of NaN.
        new_top = tl.where(columns < N, tl.maximum(top, tl.max(x, axis=0)), 0.0)
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top[None, :]), axis=0)
        top = new_top
    for start in range(0, M, BLOCK_M):
        mask = (start + rows < M)[:, None] & (columns < N)[None, :]
        offsets = (start + rows)[:, None] * N + columns[None, :]
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(y_ptr + offsets, tl.exp(x - top[None, :]) / total[None, :], mask=mask)


def run(x, y):
    M, N = x.shape
    softmax_kernel[(triton.cdiv(N, 32),)](x, y, M, N, BLOCK_M=32, BLOCK_N=32)
