import torch
import triton
import triton.language as tl


@triton.jit
def ternarize_kernel(x_ptr, threshold_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    threshold = tl.load(threshold_ptr + row)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=0.0)
    sign = (x > 0).to(tl.int8) - (x < 0).to(tl.int8)
    tl.store(y_ptr + row * N + columns, tl.where(tl.abs(x) > threshold, sign, 0), mask=columns < N)


def run(x, threshold):
    M, N = x.shape
    y = torch.empty((M, N), dtype=torch.int8, device=x.device)
    ternarize_kernel[(triton.cdiv(N, 512), M)](x, threshold, y, N, BLOCK=512)
    return y
