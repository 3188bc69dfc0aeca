import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(prediction_ptr, target_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    difference = tl.load(prediction_ptr + offsets, mask=mask, other=0.0) - tl.load(target_ptr + offsets, mask=mask, other=0.0)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(difference * difference, axis=0))


@triton.jit
def mean_kernel(partial_ptr, loss_ptr, count, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, count, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(partial_ptr + offsets, mask=offsets < count, other=0.0)
    tl.store(loss_ptr, tl.sum(total, axis=0) / n)


def run(prediction, target):
    n = prediction.numel()
    count = triton.cdiv(n, 2048)
    partial = torch.empty(count, dtype=torch.float32, device=prediction.device)
    loss = torch.empty((), dtype=torch.float32, device=prediction.device)
    partial_kernel[(count,)](prediction, target, partial, n, BLOCK=2048)
    mean_kernel[(1,)](partial, loss, count, n, BLOCK=1024)
    return loss
