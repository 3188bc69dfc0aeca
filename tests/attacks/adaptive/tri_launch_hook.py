# A hook of the launch computes with torch: launches are not counted.
# expect: violation library_fallback
# problem: triton_squares
# class: B05, B11
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


work = []
copy.add_pre_run_hook(lambda *args, **kwargs: torch.addcmul(work[0], work[0], work[0], out=work[1]))


def run(x):
    work[:] = x, torch.empty_like(x)
    y = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 512),)](work[1], y, x.numel(), BLOCK=512)
    return y
