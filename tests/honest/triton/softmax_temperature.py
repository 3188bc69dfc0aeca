import torch
import triton
import triton.language as tl


# Online softmax: the sum is rescaled when a larger value comes.
@triton.jit
def softmax_kernel(x_ptr, temperature_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    temperature = tl.load(temperature_ptr + row)
    columns = tl.arange(0, BLOCK)
    top = float("-inf")
    total = 0.0
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_ptr + row * N + start + columns, mask=mask, other=0.0) / temperature
        x = tl.where(mask, x, float("-inf"))
        new_top = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
        top = new_top
    for start in range(0, N, BLOCK):
        mask = start + columns < N
        x = tl.load(x_ptr + row * N + start + columns, mask=mask, other=0.0) / temperature
        tl.store(y_ptr + row * N + start + columns, tl.exp(x - top) / total, mask=mask)


def run(x, temperature):
    M, N = x.shape
    y = torch.empty_like(x)
    softmax_kernel[(M,)](x, temperature, y, N, BLOCK=1024)
    return y
