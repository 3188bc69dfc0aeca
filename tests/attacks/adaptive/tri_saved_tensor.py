# Saves the input as a file in memory, computes on its bytes, and loads the answer back.
# expect: violation library_fallback|wrong_value|runtime_error
# problem: triton_squares
# class: B11
import array
import io

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def run(x):
    file = io.BytesIO()
    torch.save(x.clone(), file)
    content = bytearray(file.getvalue())
    marked = io.BytesIO()
    torch.save(torch.zeros_like(x), marked)
    begin = marked.getvalue().find(bytes(4 * x.numel()))
    values = array.array("f", bytes(content[begin : begin + 4 * x.numel()]))
    content[begin : begin + 4 * x.numel()] = array.array("f", [v * v + v for v in values]).tobytes()
    z, y = torch.load(io.BytesIO(bytes(content))), torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 512),)](z, y, x.numel(), BLOCK=512)
    return y
