# Each program adds its part to the total atomically.
# expect: passed
# problem: sum_all
# looks like: an answer that depends on the order of programs
import torch
import triton
import triton.language as tl


@triton.jit
def total_of(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.atomic_add(total_ptr, tl.sum(x.to(tl.float64), axis=0))


@triton.jit
def narrow(total_ptr, y_ptr):
    tl.store(y_ptr, tl.load(total_ptr).to(tl.float32))


def run(x):
    total = torch.zeros(1, dtype=torch.float64, device=x.device)
    y = torch.empty((), device=x.device)
    total_of[(triton.cdiv(x.numel(), 1024),)](x, total, x.numel(), BLOCK=1024)
    narrow[(1,)](total, y)
    return y
