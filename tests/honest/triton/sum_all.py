import torch
import triton
import triton.language as tl


# Two stages: a partial sum for each program, then one program over the partial sums.
@triton.jit
def partial_kernel(x_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, step):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def final_kernel(partial_ptr, total_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    partial = tl.load(partial_ptr + offsets, mask=offsets < count, other=0.0)
    tl.store(total_ptr, tl.sum(partial, axis=0))


def run(x):
    n = x.numel()
    BLOCK = 1024
    programs = max(1, min(triton.cdiv(n, BLOCK), 512))
    partial = torch.empty(programs, dtype=torch.float32, device=x.device)
    total = torch.empty((), dtype=torch.float32, device=x.device)
    partial_kernel[(programs,)](x, partial, n, BLOCK=BLOCK)
    final_kernel[(1,)](partial, total, programs, BLOCK=triton.next_power_of_2(programs))
    return total
