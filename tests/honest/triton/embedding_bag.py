import torch
import triton
import triton.language as tl


@triton.jit
def bag_kernel(index_ptr, weight_ptr, table_ptr, y_ptr, E: tl.constexpr, D: tl.constexpr):
    bag = tl.program_id(0)
    entries = tl.arange(0, E)
    columns = tl.arange(0, D)
    index = tl.load(index_ptr + bag * E + entries)
    weight = tl.load(weight_ptr + bag * E + entries)
    rows = tl.load(table_ptr + index[:, None] * D + columns[None, :])
    tl.store(y_ptr + bag * D + columns, tl.sum(weight[:, None] * rows, axis=0))


def run(index, weight, table, y):
    B, E = index.shape
    bag_kernel[(B,)](index, weight, table, y, E=E, D=table.shape[1])
