# Launches on a stream of its own and waits for it.
# expect: passed
# problem: triton_squares
# looks like: work beside the stream that is timed
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
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    torch.cuda.current_stream().wait_stream(side)
    return y
