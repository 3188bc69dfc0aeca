import torch
import triton
import triton.language as tl


@triton.jit
def highway_kernel(
    x_ptr, weight_ptr, bias_ptr, gate_ptr, gate_bias_ptr, y_ptr, M, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows < M)[:, None]
    value = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    share = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, D, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * D + inner[None, :], mask=mask, other=0.0)
        offsets = inner[:, None] * D + columns[None, :]
        value = tl.dot(x, tl.load(weight_ptr + offsets), value, input_precision="ieee")
        share = tl.dot(x, tl.load(gate_ptr + offsets), share, input_precision="ieee")
    value = tl.maximum(value + tl.load(bias_ptr + columns)[None, :], 0.0)
    share = tl.sigmoid(share + tl.load(gate_bias_ptr + columns)[None, :])
    own = tl.load(x_ptr + rows[:, None] * D + columns[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + rows[:, None] * D + columns[None, :], share * value + (1.0 - share) * own, mask=mask)


def run(x, weight, bias, gate, gate_bias):
    M, D = x.shape
    y = torch.empty_like(x)
    highway_kernel[(triton.cdiv(M, 32), D // 32)](x, weight, bias, gate, gate_bias, y, M, D=D, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return y
