# Sums what a masked load gives where it reads nothing: zero, on NVIDIA's GPUs as in the interpreter. The verdict names the risk.
# expect: passed
# problem: triton_matmul
# class: W17
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
        left = tl.load(a + rows[:, None] * K + terms[None, :], mask=in_a)
        right = tl.load(b + terms[:, None] * N + columns[None, :], mask=in_b)
        sums = tl.dot(left, right, sums, input_precision="ieee")
    tl.store(c + rows[:, None] * N + columns[None, :], sums, mask=(rows[:, None] < M) & (columns[None, :] < N))


def run(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device)
    product[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, B=32)
    return c
