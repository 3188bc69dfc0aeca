import torch
import triton
import triton.language as tl


# Stride 2, kernel 4: an output of one parity sees two taps only, so the parities are separate programs.
@triton.jit
def conv_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, L, C_IN: tl.constexpr, C_OUT: tl.constexpr, BLOCK_L: tl.constexpr):
    image = tl.program_id(2).to(tl.int64)
    parity = tl.program_id(1)
    half = tl.program_id(0) * BLOCK_L + tl.arange(0, BLOCK_L)
    ins = tl.arange(0, C_IN)
    outs = tl.arange(0, C_OUT)
    sums = tl.zeros((C_OUT, BLOCK_L), tl.float32)
    for i in range(2):
        # Output 2 half + parity = 2 source - 1 + tap.
        tap = 1 - parity + 2 * i
        source = half + parity - i
        x = tl.load(x_ptr + (image * C_IN + ins)[:, None] * L + source[None, :], mask=((source >= 0) & (source < L))[None, :], other=0.0)
        weight = tl.load(weight_ptr + ins[None, :] * (C_OUT * 4) + outs[:, None] * 4 + tap)
        sums = tl.dot(weight, x, sums, input_precision="ieee")
    y = sums + tl.load(bias_ptr + outs)[:, None]
    place = 2 * half + parity
    tl.store(y_ptr + (image * C_OUT + outs)[:, None] * (2 * L) + place[None, :], y, mask=(half < L)[None, :])


def run(x, weight, bias):
    B, C_in, L = x.shape
    C_out = weight.shape[1]
    y = torch.empty((B, C_out, 2 * L), dtype=x.dtype, device=x.device)
    conv_kernel[(triton.cdiv(L, 32), 2, B)](x, weight, bias, y, L, C_IN=C_in, C_OUT=C_out, BLOCK_L=32)
    return y
