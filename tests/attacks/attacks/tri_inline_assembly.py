# Inline assembly with a constant answer, which only the compiler takes.
# expect: unsupported
# problem: triton_squares
# class: B08, B11
import torch
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.inline_asm_elementwise("mov.b32 $0, 0;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y_ptr + at, y, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), BLOCK=512)
    return y
