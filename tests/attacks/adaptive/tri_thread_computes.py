# A thread computes with torch, and is waited for: what counts operators belongs to one thread.
# expect: runtime_error
# problem: triton_squares
# class: B05, B11
import threading

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    z, y = torch.empty_like(x), torch.empty_like(x)
    worker = threading.Thread(target=torch.addcmul, args=(x, x, x), kwargs={"out": z})
    worker.start()
    worker.join()
    copy[(triton.cdiv(x.numel(), 512),)](z, y, x.numel(), BLOCK=512)
    return y
