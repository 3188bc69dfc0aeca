import torch
import triton
import triton.language as tl


@triton.jit
def sample_kernel(weight_ptr, draw_ptr, index_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int64)
    for start in range(0, N, BLOCK):
        total += tl.load(weight_ptr + row * N + start + columns, mask=start + columns < N, other=0).to(tl.int64)
    goal = tl.load(draw_ptr + row) % tl.sum(total, axis=0)
    passed = tl.zeros((BLOCK,), tl.int64)
    before = goal * 0
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        weight = tl.load(weight_ptr + row * N + start + columns, mask=mask, other=0).to(tl.int64)
        running = before + tl.cumsum(weight, axis=0)
        passed += ((running <= goal) & mask).to(tl.int64)
        before += tl.sum(weight, axis=0)
    tl.store(index_ptr + row, tl.sum(passed, axis=0))


def run(weight, draw):
    M, N = weight.shape
    index = torch.empty(M, dtype=torch.int64, device=weight.device)
    sample_kernel[(M,)](weight, draw, index, N, BLOCK=512)
    return index
