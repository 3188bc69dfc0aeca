# The kernel works in the first workload, the only one that is asked without its stores; torch in the second.
# expect: violation token_kernel
# problem: softmax
# class: B05, W15
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + at, mask=at < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row + at, e / tl.sum(e, axis=0), mask=at < n)


FIRST = (27, 257)


def run(x):
    first = x.shape == FIRST
    y = torch.empty_like(x)
    softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y if first else torch.softmax(x, dim=-1)
