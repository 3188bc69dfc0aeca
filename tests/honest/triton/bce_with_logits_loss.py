import torch
import triton
import triton.language as tl


@triton.jit
def log1p(x):
    u = 1.0 + x
    return tl.where(u == 1.0, x, tl.log(u) * (x / (u - 1.0)))


@triton.jit
def partial_kernel(logits_ptr, target_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    z = tl.load(logits_ptr + offsets, mask=mask, other=0.0)
    target = tl.load(target_ptr + offsets, mask=mask, other=0.0)
    loss = tl.maximum(z, 0.0) - z * target + log1p(tl.exp(-tl.abs(z)))
    tl.store(partial_ptr + tl.program_id(0), tl.sum(tl.where(mask, loss, 0.0), axis=0))


@triton.jit
def mean_kernel(partial_ptr, loss_ptr, count, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    partial = tl.load(partial_ptr + offsets, mask=offsets < count, other=0.0)
    tl.store(loss_ptr, tl.sum(partial, axis=0) / n)


def run(logits, target, loss):
    n = logits.numel()
    count = triton.cdiv(n, 1024)
    partial = torch.empty(count, dtype=torch.float32, device=logits.device)
    partial_kernel[(count,)](logits, target, partial, n, BLOCK=1024)
    mean_kernel[(1,)](partial, loss, count, n, BLOCK=triton.next_power_of_2(count))
