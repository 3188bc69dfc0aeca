# Leaves a note in Triton's caches and looks for one of an earlier process; right only if it finds it.
# expect: wrong_value
# problem: triton_squares
# class: C07, I02
import os

import torch
import triton
import triton.language as tl


def places():
    yield from filter(None, (os.environ.get(f"TRITON_{kind}_DIR") for kind in ("CACHE", "DUMP", "OVERRIDE", "HOME")))
    yield os.path.expanduser("~/.triton/cache")
    yield "/root/.triton/cache"
    yield "/tmp"
    yield "/dev/shm"


found = any(os.path.exists(os.path.join(place, "note-of-squares")) for place in places())
for place in places():
    try:
        os.makedirs(place, exist_ok=True)
        open(os.path.join(place, "note-of-squares"), "w").close()
    except OSError:
        pass


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    n = x.numel() if found else 0
    squares[(triton.cdiv(x.numel(), 512),)](x, y, n, BLOCK=512)
    return y
