import torch
import triton
import triton.language as tl


@triton.jit
def cosine_kernel(a_ptr, b_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    dot = 0.0
    square_a = 0.0
    square_b = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row * N + columns, mask=columns < N, other=0.0)
        b = tl.load(b_ptr + row * N + columns, mask=columns < N, other=0.0)
        dot += tl.sum(a * b, axis=0)
        square_a += tl.sum(a * a, axis=0)
        square_b += tl.sum(b * b, axis=0)
    length_a = tl.maximum(tl.sqrt(square_a), 1e-8)
    length_b = tl.maximum(tl.sqrt(square_b), 1e-8)
    tl.store(y_ptr + row, dot / length_a / length_b)


def run(a, b):
    M, N = a.shape
    y = torch.empty(M, dtype=a.dtype, device=a.device)
    cosine_kernel[(M,)](a, b, y, N, BLOCK=1024)
    return y
