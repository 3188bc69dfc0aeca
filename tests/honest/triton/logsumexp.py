import torch
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -1.0e38, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    # A running maximum and sum for each lane; lanes are merged at the end.
    for start in range(0, N, BLOCK):
        x = tl.load(x_ptr + row * N + start + columns, mask=start + columns < N, other=-1.0e38)
        new_top = tl.maximum(top, x)
        total = total * tl.exp(top - new_top) + tl.where(start + columns < N, tl.exp(x - new_top), 0.0)
        top = new_top
    largest = tl.max(top, axis=0)
    tl.store(y_ptr + row, largest + tl.log(tl.sum(total * tl.exp(top - largest), axis=0)))


def run(x, y):
    M, N = x.shape
    logsumexp_kernel[(M,)](x, y, N, BLOCK=min(1024, triton.next_power_of_2(N)))
