import torch
import triton
import triton.language as tl


@triton.jit
def gate_kernel(
    x_ptr, weight_ptr, probability_ptr, share_ptr, expert_ptr, M,
    K: tl.constexpr, E: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    experts = tl.arange(0, E)
    logits = tl.zeros((BLOCK_M, E), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=rows[:, None] < M, other=0.0)
        logits = tl.dot(x, tl.load(weight_ptr + inner[:, None] * E + experts[None, :]), logits, input_precision="ieee")
    exponentials = tl.exp(logits - tl.max(logits, axis=1, keep_dims=True))
    probability = exponentials / tl.sum(exponentials, axis=1, keep_dims=True)
    tl.store(probability_ptr + rows[:, None] * E + experts[None, :], probability, mask=rows[:, None] < M)
    first, first_expert = tl.max(probability, axis=1, return_indices=True)
    rest = tl.where(experts[None, :] == first_expert[:, None], -1.0, probability)
    second, second_expert = tl.max(rest, axis=1, return_indices=True)
    mask = rows < M
    tl.store(share_ptr + rows * 2, first / (first + second), mask=mask)
    tl.store(share_ptr + rows * 2 + 1, second / (first + second), mask=mask)
    tl.store(expert_ptr + rows * 2, first_expert, mask=mask)
    tl.store(expert_ptr + rows * 2 + 1, second_expert, mask=mask)


def run(x, weight, probability, share, expert):
    M, K = x.shape
    E = weight.shape[1]
    gate_kernel[(triton.cdiv(M, 16),)](x, weight, probability, share, expert, M, K=K, E=E, BLOCK_M=16, BLOCK_K=32)
