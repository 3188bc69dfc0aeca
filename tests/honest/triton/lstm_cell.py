import torch
import triton
import triton.language as tl


@triton.jit
def tanh(x):
    z = x * x
    p = -5.70498872745e-3 * z + 2.06390887954e-2
    p = p * z - 5.37397155531e-2
    p = p * z + 1.33314422036e-1
    p = p * z - 3.33332819422e-1
    far = 1.0 - 2.0 / (tl.exp(2.0 * tl.abs(x)) + 1.0)
    return tl.where(tl.abs(x) < 0.625, x + x * z * p, tl.where(x < 0, -far, far))


@triton.jit
def gate_sums(x_ptr, state_ptr, weight_x_ptr, weight_h_ptr, bias_ptr, rows, columns, M,
              D: tl.constexpr, H: tl.constexpr, GATE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    gate = GATE * H + columns
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32) + tl.load(bias_ptr + gate)[None, :]
    for start in range(0, D, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * D + inner[None, :], mask=rows[:, None] < M, other=0.0)
        sums = tl.dot(x, tl.load(weight_x_ptr + inner[:, None] * (4 * H) + gate[None, :]), sums, input_precision="ieee")
    for start in range(0, H, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        state = tl.load(state_ptr + rows[:, None] * H + inner[None, :], mask=rows[:, None] < M, other=0.0)
        sums = tl.dot(state, tl.load(weight_h_ptr + inner[:, None] * (4 * H) + gate[None, :]), sums, input_precision="ieee")
    return sums


@triton.jit
def lstm_kernel(
    x_ptr, state_ptr, cell_ptr, weight_x_ptr, weight_h_ptr, bias_ptr, new_state_ptr, new_cell_ptr, M,
    D: tl.constexpr, H: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    entry = gate_sums(x_ptr, state_ptr, weight_x_ptr, weight_h_ptr, bias_ptr, rows, columns, M, D, H, 0, BLOCK_M, BLOCK_N, BLOCK_K)
    forget = gate_sums(x_ptr, state_ptr, weight_x_ptr, weight_h_ptr, bias_ptr, rows, columns, M, D, H, 1, BLOCK_M, BLOCK_N, BLOCK_K)
    fresh = gate_sums(x_ptr, state_ptr, weight_x_ptr, weight_h_ptr, bias_ptr, rows, columns, M, D, H, 2, BLOCK_M, BLOCK_N, BLOCK_K)
    out = gate_sums(x_ptr, state_ptr, weight_x_ptr, weight_h_ptr, bias_ptr, rows, columns, M, D, H, 3, BLOCK_M, BLOCK_N, BLOCK_K)
    offsets = rows[:, None] * H + columns[None, :]
    mask = rows[:, None] < M
    cell = tl.load(cell_ptr + offsets, mask=mask, other=0.0)
    new_cell = tl.sigmoid(forget) * cell + tl.sigmoid(entry) * tanh(fresh)
    tl.store(new_cell_ptr + offsets, new_cell, mask=mask)
    tl.store(new_state_ptr + offsets, tl.sigmoid(out) * tanh(new_cell), mask=mask)


def run(x, state, cell, weight_x, weight_h, bias):
    M, D = x.shape
    H = state.shape[1]
    new_state = torch.empty_like(state)
    new_cell = torch.empty_like(cell)
    grid = (triton.cdiv(M, 16), H // 32)
    lstm_kernel[grid](x, state, cell, weight_x, weight_h, bias, new_state, new_cell, M, D, H, BLOCK_M=16, BLOCK_N=32, BLOCK_K=32)
    return new_state, new_cell
