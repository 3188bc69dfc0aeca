import torch
import triton
import triton.language as tl


@triton.jit
def add_pairs(a_first, a_second, b_first, b_second):
    return a_first + b_first, a_second + b_second


@triton.jit
def sums_kernel(log_probability_ptr, target_ptr, weight_ptr, sums_ptr, M, C, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = rows < M
    target = tl.load(target_ptr + rows, mask=mask, other=0)
    weight = tl.load(weight_ptr + target, mask=mask, other=0.0)
    value = tl.load(log_probability_ptr + rows * C + target, mask=mask, other=0.0)
    loss, total = tl.reduce((-weight * value, weight), 0, add_pairs)
    tl.atomic_add(sums_ptr, loss)
    tl.atomic_add(sums_ptr + 1, total)


@triton.jit
def divide_kernel(sums_ptr, loss_ptr):
    tl.store(loss_ptr, tl.load(sums_ptr) / tl.load(sums_ptr + 1))


def run(log_probability, target, weight):
    M, C = log_probability.shape
    sums = torch.zeros(2, dtype=torch.float32, device=weight.device)
    loss = torch.empty((), dtype=torch.float32, device=weight.device)
    sums_kernel[(triton.cdiv(M, 256),)](log_probability, target, weight, sums, M, C, BLOCK=256)
    divide_kernel[(1,)](sums, loss, num_warps=1)
    return loss
