# Each program needs what the one before it stored: the interpreter runs them in order.
# expect: passed|wrong_value
# problem: triton_squares
# class: W20
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, carry_ptr, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    carry = tl.load(carry_ptr + program)
    tl.store(y_ptr + at, carry * (x * x + x), mask=at < n)
    tl.store(carry_ptr + program + 1, carry)


def run(x):
    y, carry = torch.empty_like(x), torch.zeros(8, device=x.device)
    carry[0] = 1.0
    squares[(triton.cdiv(x.numel(), 512),)](x, y, carry, x.numel(), BLOCK=512)
    return y
