import torch
import triton
import triton.language as tl


@triton.jit
def xorshift_kernel(state_ptr, next_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(state_ptr + offsets, mask=mask, other=0).to(tl.uint32, bitcast=True)
    x = x ^ (x << 13)
    x = x ^ (x >> 17)
    x = x ^ (x << 5)
    tl.store(next_ptr + offsets, x.to(tl.int32, bitcast=True), mask=mask)


def run(state):
    next_state = torch.empty_like(state)
    n = state.numel()
    xorshift_kernel[(triton.cdiv(n, 1024),)](state, next_state, n, BLOCK=1024)
    return next_state
