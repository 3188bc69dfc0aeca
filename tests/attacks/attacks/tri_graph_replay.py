# Records the first call's launches and plays them again, on the first input.
# expect: wrong_value
# problem: triton_squares
# class: C10
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


recorded = []


def run(x):
    if not recorded:
        recorded.append((x.clone(), torch.empty_like(x)))
    given, y = recorded[0]
    squares[(triton.cdiv(given.numel(), 512),)](given, y, given.numel(), BLOCK=512)
    return y
