import torch
import triton
import triton.language as tl


@triton.jit
def gate_up_kernel(
    x_ptr, gate_ptr, up_ptr, hidden_ptr, M, D: tl.constexpr, H: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    gate = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, D, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * D + inner[None, :], mask=rows[:, None] < M, other=0.0)
        offsets = inner[:, None] * H + columns[None, :]
        gate = tl.dot(x, tl.load(gate_ptr + offsets), gate, input_precision="ieee")
        up = tl.dot(x, tl.load(up_ptr + offsets), up, input_precision="ieee")
    tl.store(hidden_ptr + rows[:, None] * H + columns[None, :], gate * tl.sigmoid(gate) * up, mask=rows[:, None] < M)


@triton.jit
def down_kernel(
    hidden_ptr, down_ptr, y_ptr, M, D: tl.constexpr, H: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, H, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        hidden = tl.load(hidden_ptr + rows[:, None] * H + inner[None, :], mask=rows[:, None] < M, other=0.0)
        sums = tl.dot(hidden, tl.load(down_ptr + inner[:, None] * D + columns[None, :]), sums, input_precision="ieee")
    tl.store(y_ptr + rows[:, None] * D + columns[None, :], sums, mask=rows[:, None] < M)


def run(x, gate, up, down):
    M, D = x.shape
    H = gate.shape[1]
    hidden = torch.empty((M, H), dtype=x.dtype, device=x.device)
    y = torch.empty_like(x)
    tiles = dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=32, num_warps=4)
    gate_up_kernel[(triton.cdiv(M, 16), H // 64)](x, gate, up, hidden, M, D, H, **tiles)
    down_kernel[(triton.cdiv(M, 16), D // 64)](hidden, down, y, M, D, H, **tiles)
    return y
