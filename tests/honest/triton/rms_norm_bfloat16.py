import torch
import triton
import triton.language as tl


# Persistent over rows: the weight is read once a program.
@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, y_ptr, M, N: tl.constexpr, EPS: tl.constexpr):
    columns = tl.arange(0, N)
    weight = tl.load(weight_ptr + columns).to(tl.float32)
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        x = tl.load(x_ptr + row * N + columns).to(tl.float32)
        scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / N + EPS)
        tl.store(y_ptr + row * N + columns, (x * scale * weight).to(tl.bfloat16))


def run(x, weight, y):
    M, N = x.shape
    rms_norm_kernel[(min(M, 528),)](x, weight, y, M, N=N, EPS=1e-6, num_warps=4)
