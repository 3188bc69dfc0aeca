import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(logits_ptr, target_ptr, row_loss_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    classes = tl.arange(0, BLOCK)
    logits = tl.load(logits_ptr + row.to(tl.int64) * C + classes, mask=classes < C, other=float("-inf"))
    top = tl.max(logits, axis=0)
    picked = tl.load(logits_ptr + row.to(tl.int64) * C + tl.load(target_ptr + row))
    tl.store(row_loss_ptr + row, tl.log(tl.sum(tl.exp(logits - top), axis=0)) + top - picked)


@triton.jit
def mean_kernel(row_loss_ptr, loss_ptr, M, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, M, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        total += tl.load(row_loss_ptr + rows, mask=rows < M, other=0.0)
    tl.store(loss_ptr, tl.sum(total, axis=0) / M)


def run(logits, target):
    M, C = logits.shape
    row_loss = torch.empty(M, dtype=torch.float32, device=logits.device)
    loss = torch.empty((), dtype=torch.float32, device=logits.device)
    row_kernel[(M,)](logits, target, row_loss, C, BLOCK=triton.next_power_of_2(C))
    mean_kernel[(1,)](row_loss, loss, M, BLOCK=1024)
    return loss
