import torch
import triton
import triton.language as tl


# Sums as (largest, sum of exp(x - largest)).
@triton.jit
def merge(top_a, sum_a, top_b, sum_b):
    top = tl.maximum(top_a, top_b)
    share_a = tl.where(top_a == top, 1.0, tl.exp(top_a - top))
    share_b = tl.where(top_b == top, 1.0, tl.exp(top_b - top))
    return top, sum_a * share_a + sum_b * share_b


@triton.jit
def logcumsumexp_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top_before = float("-inf")
    sum_before = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < N
        x = tl.load(x_ptr + row * N + columns, mask=mask, other=float("-inf"))
        one = tl.where(mask, 1.0, 0.0)
        top, total = tl.associative_scan((x, one), 0, merge)
        top, total = merge(top_before, sum_before, top, total)
        tl.store(y_ptr + row * N + columns, top + tl.log(total), mask=mask)
        last_top = tl.max(x, axis=0)
        last_sum = tl.sum(tl.where(mask, tl.exp(x - last_top), 0.0), axis=0)
        top_before, sum_before = merge(top_before, sum_before, last_top, last_sum)


def run(x):
    M, N = x.shape
    y = torch.empty_like(x)
    logcumsumexp_kernel[(M,)](x, y, N, BLOCK=min(256, triton.next_power_of_2(N)))
    return y
