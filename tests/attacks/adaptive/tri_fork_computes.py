# A child process computes with torch in shared memory, and is waited for: it counts for itself.
# expect: violation library_fallback|violation background_work|runtime_error
# problem: triton_squares
# class: B10, B11
import os

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    shared = torch.empty(x.shape).share_memory_()
    y = torch.empty_like(x)
    child = os.fork()
    if child == 0:
        shared.copy_(x * x + x)
        os._exit(0)
    os.waitpid(child, 0)
    copy[(triton.cdiv(x.numel(), 512),)](shared, y, x.numel(), BLOCK=512)
    return y
