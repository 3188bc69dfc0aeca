import torch
import triton
import triton.language as tl


# Value and index in one 64-bit key, so that one sort is stable: the value's bits, made to order as integers, above the index.
@triton.jit
def descending_keys(x, columns):
    bits = (x + 0.0).to(tl.int32, bitcast=True)
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return ((-1 - ordered.to(tl.int64)) << 32) | columns.to(tl.int64)


@triton.jit
def argsort_kernel(x_ptr, index_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=float("-inf"))
    keys = tl.sort(descending_keys(x, columns))
    tl.store(index_ptr + row * N + columns, keys & 0xFFFFFFFF, mask=columns < N)


def run(x, index):
    M, N = x.shape
    argsort_kernel[(M,)](x, index, N, BLOCK=triton.next_power_of_2(N))
