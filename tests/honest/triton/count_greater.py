import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(x_ptr, threshold_ptr, count_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    threshold = tl.load(threshold_ptr + row)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=float("-inf"))
    found = tl.sum(((x > threshold) & (columns < N)).to(tl.int64), axis=0)
    tl.atomic_add(count_ptr + row, found, sem="relaxed")


def run(x, threshold):
    M, N = x.shape
    count = torch.zeros(M, dtype=torch.int64, device=x.device)
    count_kernel[(M, triton.cdiv(N, 512))](x, threshold, count, N, BLOCK=512)
    return count
