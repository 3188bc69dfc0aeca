# Multiplies in bfloat16 where float32 is asked for.
# expect: wrong_value
# problem: triton_matmul
# class: W08
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M, N, K, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    sums = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, K, B):
        terms = k + tl.arange(0, B)
        in_a = (rows[:, None] < M) & (terms[None, :] < K)
        in_b = (terms[:, None] < K) & (columns[None, :] < N)
        left = tl.load(a + rows[:, None] * K + terms[None, :], mask=in_a, other=0.0)
        right = tl.load(b + terms[:, None] * N + columns[None, :], mask=in_b, other=0.0)
        sums = tl.dot(left.to(tl.bfloat16), right.to(tl.bfloat16), sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums, mask=(rows[:, None] < M) & (columns[None, :] < N))


def run(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device)
    product[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, B=32)
    return c
