# Chooses its block by the shape, and the grid by the device's multiprocessors.
# expect: passed
# problem: triton_squares
# looks like: launches that depend on the machine
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    block = 64 if n % 2 else 128
    count = torch.cuda.get_device_properties(x.device).multi_processor_count
    squares[(min(count, triton.cdiv(n, block)),)](x, y, n, BLOCK=block)
    return y
