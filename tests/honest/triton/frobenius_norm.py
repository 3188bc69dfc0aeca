import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(x_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(x * x, axis=0))


@triton.jit
def root_kernel(partial_ptr, y_ptr, count, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, count, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(partial_ptr + offsets, mask=offsets < count, other=0.0)
    tl.store(y_ptr, tl.sqrt_rn(tl.sum(total, axis=0)))


def run(x, y):
    n = x.numel()
    count = triton.cdiv(n, 4096)
    partial = torch.empty(count, dtype=torch.float32, device=x.device)
    partial_kernel[(count,)](x, partial, n, BLOCK=4096, num_warps=8)
    root_kernel[(1,)](partial, y, count, BLOCK=1024)
