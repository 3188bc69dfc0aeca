import torch
import triton
import triton.language as tl


@triton.jit
def gemv_kernel(a_ptr, x_ptr, y_ptr, M, K, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    sums = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + inner, mask=inner < K, other=0.0, eviction_policy="evict_last")
        a = tl.load(a_ptr + rows[:, None].to(tl.int64) * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0)
        sums += a * x[None, :]
    tl.store(y_ptr + rows, tl.sum(sums, axis=1), mask=rows < M)


def run(a, x):
    M, K = a.shape
    y = torch.empty(M, dtype=a.dtype, device=a.device)
    gemv_kernel[(triton.cdiv(M, 4),)](a, x, y, M, K, ROWS=4, BLOCK=512)
    return y
