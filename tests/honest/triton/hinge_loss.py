import torch
import triton
import triton.language as tl


# The last program to finish adds up the partial sums: a counter tells which one that is.
@triton.jit
def hinge_kernel(score_ptr, label_ptr, partial_ptr, finished_ptr, loss_ptr, n, BLOCK: tl.constexpr, PARTIALS: tl.constexpr):
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(pid * BLOCK, n, programs * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        score = tl.load(score_ptr + offsets, mask=mask, other=0.0)
        label = tl.load(label_ptr + offsets, mask=mask, other=0)
        loss = tl.maximum(1.0 - tl.where(label != 0, score, -score), 0.0)
        total += tl.where(mask, loss, 0.0)
    tl.store(partial_ptr + pid, tl.sum(total, axis=0))
    tl.debug_barrier()
    before = tl.atomic_add(finished_ptr, 1, sem="acq_rel")
    if before == programs - 1:
        index = tl.arange(0, PARTIALS)
        partial = tl.load(partial_ptr + index, mask=index < programs, other=0.0, cache_modifier=".cg")
        tl.store(loss_ptr, tl.sum(partial, axis=0) / n)


def run(score, label):
    n = score.numel()
    programs = min(triton.cdiv(n, 1024), 128)
    partial = torch.empty(128, dtype=torch.float32, device=score.device)
    finished = torch.zeros(1, dtype=torch.int32, device=score.device)
    loss = torch.empty((), dtype=torch.float32, device=score.device)
    hinge_kernel[(programs,)](score, label, partial, finished, loss, n, BLOCK=1024, PARTIALS=128)
    return loss
