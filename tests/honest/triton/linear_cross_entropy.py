import torch
import triton
import triton.language as tl


# Logits are made block by block and never stored: running maximum, sum, and the target's logit.
@triton.jit
def loss_kernel(
    x_ptr, weight_ptr, target_ptr, loss_ptr, M, C, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_C: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    target = tl.load(target_ptr + rows, mask=rows < M, other=0)
    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    picked = tl.zeros((BLOCK_M,), tl.float32)
    for first in range(0, C, BLOCK_C):
        classes = first + tl.arange(0, BLOCK_C)
        logits = tl.zeros((BLOCK_M, BLOCK_C), tl.float32)
        for start in range(0, K, BLOCK_K):
            inner = start + tl.arange(0, BLOCK_K)
            x = tl.load(x_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None], other=0.0)
            weight = tl.load(weight_ptr + inner[:, None] * C + classes[None, :], mask=(classes < C)[None, :], other=0.0)
            logits = tl.dot(x, weight, logits, input_precision="ieee")
        logits = tl.where((classes < C)[None, :], logits, float("-inf"))
        new_top = tl.maximum(top, tl.max(logits, axis=1))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(logits - new_top[:, None]), axis=1)
        picked += tl.sum(tl.where(classes[None, :] == target[:, None], logits, 0.0), axis=1)
        top = new_top
    tl.store(loss_ptr + rows, top + tl.log(total) - picked, mask=rows < M)


def run(x, weight, target):
    M, K = x.shape
    C = weight.shape[1]
    loss = torch.empty(M, dtype=x.dtype, device=x.device)
    loss_kernel[(triton.cdiv(M, 16),)](x, weight, target, loss, M, C, K, BLOCK_M=16, BLOCK_C=64, BLOCK_K=32)
    return loss
