# Takes all the memory that there is while it is compiled.
# expect: compile_error|memory_limit
# problem: triton_squares
# class: I10
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


hoard = [bytearray(1 << 30) for _ in range(64)]
for block in hoard:
    for at in range(0, len(block), 4096):
        block[at] = 1


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
