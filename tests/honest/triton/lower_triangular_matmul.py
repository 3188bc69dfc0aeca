import torch
import triton
import triton.language as tl


# Only blocks of k between the tile's first column and its last row count.
@triton.jit
def tril_kernel(a_ptr, b_ptr, c_ptr, N, BLOCK: tl.constexpr):
    tile_row = tl.program_id(0)
    tile_column = tl.program_id(1)
    rows = tile_row * BLOCK + tl.arange(0, BLOCK)
    columns = tile_column * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for block in range(tile_column, tile_row + 1):
        inner = block * BLOCK + tl.arange(0, BLOCK)
        mask_a = (rows[:, None] < N) & (inner[None, :] <= rows[:, None])
        mask_b = (inner[:, None] < N) & (columns[None, :] <= inner[:, None])
        a = tl.load(a_ptr + rows[:, None] * N + inner[None, :], mask=mask_a, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=mask_b, other=0.0)
        sums = tl.dot(a, b, sums, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sums, mask=(rows < N)[:, None] & (columns < N)[None, :])


def run(a, b):
    N = a.shape[0]
    c = torch.empty_like(a)
    tril_kernel[(triton.cdiv(N, 32), triton.cdiv(N, 32))](a, b, c, N, BLOCK=32)
    return c
