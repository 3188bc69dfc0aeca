# Inline assembly for the compiler, another kernel behind it for the interpreter.
# expect: violation uncompiled_kernel
# problem: triton_squares
# class: B02, B11
import torch
import triton
import triton.language as tl


@triton.jit
def assembly(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.inline_asm_elementwise("mov.b32 $0, 0;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y_ptr + at, y, mask=at < n)


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 512),)
    try:
        assembly[grid](x, y, x.numel(), BLOCK=512)
    except Exception:
        squares[grid](x, y, x.numel(), BLOCK=512)
    return y
