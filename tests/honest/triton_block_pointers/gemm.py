# Block pointers: Triton before 3.9, which took them out.
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 16}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}, num_warps=4, num_stages=2),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def gemm_kernel(
    a_ptr, b_ptr, c_ptr, y_ptr, M, N, K, alpha, beta,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    a_block = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (row, 0), (BLOCK_M, BLOCK_K), (1, 0))
    b_block = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, column), (BLOCK_K, BLOCK_N), (1, 0))
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        sums = tl.dot(a, b, sums, input_precision="ieee")
        a_block = tl.advance(a_block, (0, BLOCK_K))
        b_block = tl.advance(b_block, (BLOCK_K, 0))
    c_block = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (row, column), (BLOCK_M, BLOCK_N), (1, 0))
    y_block = tl.make_block_ptr(y_ptr, (M, N), (N, 1), (row, column), (BLOCK_M, BLOCK_N), (1, 0))
    c = tl.load(c_block, boundary_check=(0, 1), padding_option="zero")
    tl.store(y_block, alpha * sums + beta * c, boundary_check=(0, 1))


def run(a, b, c, alpha, beta):
    M, K = a.shape
    N = b.shape[1]
    y = torch.empty_like(c)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]), triton.cdiv(N, META["BLOCK_N"]))
    gemm_kernel[grid](a, b, c, y, M, N, K, alpha, beta)
    return y
