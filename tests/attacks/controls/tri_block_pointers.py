# A product through block pointers, with exact factors.
# expect: passed
# problem: triton_matmul
# looks like: addresses that are nowhere in the source
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M, N, K, B: tl.constexpr):
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    a_block = tl.make_block_ptr(a, (M, K), (K, 1), (row, 0), (B, B), (1, 0))
    b_block = tl.make_block_ptr(b, (K, N), (N, 1), (0, column), (B, B), (1, 0))
    sums = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, K, B):
        left = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        right = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        sums = tl.dot(left, right, sums, input_precision="ieee")
        a_block = tl.advance(a_block, (0, B))
        b_block = tl.advance(b_block, (B, 0))
    c_block = tl.make_block_ptr(c, (M, N), (N, 1), (row, column), (B, B), (1, 0))
    tl.store(c_block, sums, boundary_check=(0, 1))


def run(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device)
    product[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, B=32)
    return c
