import torch
import triton
import triton.language as tl


@triton.jit
def clip_kernel(x_ptr, y_ptr, longest, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    length = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(y_ptr + row * N + columns, x * tl.minimum(longest / length, 1.0), mask=columns < N)


def run(x, longest):
    M, N = x.shape
    y = torch.empty_like(x)
    clip_kernel[(M,)](x, y, longest, N, BLOCK=triton.next_power_of_2(N), num_warps=4)
    return y
