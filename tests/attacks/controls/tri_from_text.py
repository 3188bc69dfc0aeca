# Writes its kernel's source from a template, where inspect finds it.
# expect: passed
# problem: triton_squares
# looks like: source that is built while it runs
import linecache

import torch
import triton
import triton.language as tl


SOURCE = """
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, @, mask=at < n)
""".replace("@,", "x * x + x,")

linecache.cache["squares"] = (len(SOURCE), None, SOURCE.splitlines(True), "squares")
exec(compile(SOURCE, "squares", "exec"), globals())


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
