import torch
import triton
import triton.language as tl


# Leaves the row at the first block that holds a larger value.
@triton.jit
def any_kernel(x_ptr, threshold_ptr, found_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    threshold = tl.load(threshold_ptr + row)
    start = 0
    found = 0
    while (start < N) & (found == 0):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=float("-inf"))
        found = tl.max(((x > threshold) & (columns < N)).to(tl.int32), axis=0)
        start += BLOCK
    tl.store(found_ptr + row, found != 0)


def run(x, threshold):
    M, N = x.shape
    found = torch.empty(M, dtype=torch.bool, device=x.device)
    any_kernel[(M,)](x, threshold, found, N, BLOCK=256)
    return found
