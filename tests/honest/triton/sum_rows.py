import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + row, tl.sum(total, axis=0))


def run(x):
    M, N = x.shape
    y = torch.empty(M, dtype=x.dtype, device=x.device)
    sum_kernel[(M,)](x, y, M, N, BLOCK=512)
    return y
