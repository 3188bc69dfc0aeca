import torch
import triton
import triton.language as tl


@triton.jit
def softmax_matmul_kernel(score_ptr, mask_ptr, value_ptr, y_ptr, M, N, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    batch = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, D)
    top = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    sums = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        offsets = batch * M * N + rows[:, None] * N + columns[None, :]
        inside = (rows < M)[:, None] & (columns < N)[None, :]
        seen = tl.load(mask_ptr + offsets, mask=inside, other=0) != 0
        score = tl.load(score_ptr + offsets, mask=seen, other=float("-inf"))
        new_top = tl.maximum(top, tl.max(score, axis=1))
        share = tl.exp(top - new_top)
        weights = tl.exp(score - new_top[:, None])
        total = total * share + tl.sum(weights, axis=1)
        value = tl.load(value_ptr + batch * N * D + columns[:, None] * D + dims[None, :], mask=(columns < N)[:, None], other=0.0)
        sums = tl.dot(weights, value, sums * share[:, None], input_precision="ieee")
        top = new_top
    tl.store(y_ptr + batch * M * D + rows[:, None] * D + dims[None, :], sums / total[:, None], mask=(rows < M)[:, None])


def run(score, mask, value, y):
    B, M, N = score.shape
    D = value.shape[2]
    softmax_matmul_kernel[(triton.cdiv(M, 16), B)](score, mask, value, y, M, N, D=D, BLOCK_M=16, BLOCK_N=32)
