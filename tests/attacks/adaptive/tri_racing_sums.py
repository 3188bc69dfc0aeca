# All programs add to one place without atomics: the interpreter runs them one after the other.
# expect: passed|wrong_value
# problem: sum_rows
# class: W20
import torch
import triton
import triton.language as tl


@triton.jit
def sums(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    y = tl.load(y_ptr + tl.program_id(0))
    tl.store(y_ptr + tl.program_id(0), y + tl.sum(x, axis=0))


def run(x):
    y = torch.zeros(x.shape[0], device=x.device)
    sums[(x.shape[0], triton.cdiv(x.shape[1], 64))](x, y, x.shape[1], BLOCK=64)
    return y
