import torch
import triton
import triton.language as tl


# Strips of K add their part by atomics.
@triton.jit
def gemv_kernel(x_ptr, a_ptr, y_ptr, K, N, STRIP: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr):
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    first = tl.program_id(1) * STRIP
    sums = tl.zeros((BLOCK_N,), tl.float32)
    for start in range(0, STRIP, BLOCK_K):
        inner = first + start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + inner, mask=inner < K, other=0.0)
        a = tl.load(a_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0)
        sums += tl.sum(x[:, None] * a, axis=0)
    tl.atomic_add(y_ptr + columns, sums, mask=columns < N)


def run(x, a):
    K, N = a.shape
    y = torch.zeros(N, dtype=a.dtype, device=a.device)
    gemv_kernel[(triton.cdiv(N, 64), triton.cdiv(K, 256))](x, a, y, K, N, STRIP=256, BLOCK_K=32, BLOCK_N=64)
    return y
