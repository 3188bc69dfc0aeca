import torch
import triton
import triton.language as tl


@triton.jit
def gelu_tanh(x):
    u = 0.7978845608028654 * x * (1.0 + 0.044715 * x * x)
    return x * tl.sigmoid(2.0 * u)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 1024}, num_warps=4), triton.Config({"BLOCK": 2048}, num_warps=8)],
    key=["n"],
)
@triton.jit
def geglu_kernel(gate_ptr, up_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    gate = tl.load(gate_ptr + offsets, mask=mask).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(y_ptr + offsets, (gelu_tanh(gate) * up).to(tl.bfloat16), mask=mask)


def run(gate, up):
    y = torch.empty_like(gate)
    n = gate.numel()
    geglu_kernel[lambda META: (triton.cdiv(n, META["BLOCK"]),)](gate, up, y, n)
    return y
