# A thread launches the kernel after the return.
# expect: runtime_error
# problem: triton_squares
# class: T03
import threading
import time

import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)

    def later():
        time.sleep(0.5)
        squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)

    threading.Thread(target=later, daemon=True).start()
    return y
