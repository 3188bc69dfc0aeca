# Half of the autotuner's configurations are wrong; each of 32 parts is tuned for itself.
# expect: wrong_value
# problem: triton_squares
# class: W14, W15
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 128, "WRONG": w}) for w in (0, 1)], key=["n"])
@triton.jit
def squares(x_ptr, y_ptr, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + (0.0 if WRONG else x), mask=at < n)


def run(x):
    y = torch.empty_like(x)
    begin = 0
    for number in range(32):
        end = begin + 60 + number if number < 31 else x.numel()
        squares[(triton.cdiv(end - begin, 128),)](x[begin:end], y[begin:end], end - begin)
        begin = end
    return y
