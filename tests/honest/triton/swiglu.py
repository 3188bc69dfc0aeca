import torch
import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    gate = tl.load(gate_ptr + offsets, mask=mask, other=0.0)
    up = tl.load(up_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, gate * tl.sigmoid(gate) * up, mask=mask)


def run(gate, up, y):
    n = gate.numel()
    swiglu_kernel[(triton.cdiv(n, 1024),)](gate, up, y, n, BLOCK=1024)
