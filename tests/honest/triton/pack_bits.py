import torch
import triton
import triton.language as tl


@triton.jit
def pack_kernel(bits_ptr, packed_ptr, n, BLOCK: tl.constexpr):
    bytes_ = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.arange(0, 8)
    bits = tl.load(bits_ptr + bytes_[:, None] * 8 + place[None, :], mask=(bytes_ < n)[:, None], other=0)
    packed = tl.sum(bits.to(tl.int32) << place[None, :], axis=1)
    tl.store(packed_ptr + bytes_, packed.to(tl.uint8), mask=bytes_ < n)


def run(bits, packed):
    n = packed.numel()
    pack_kernel[(triton.cdiv(n, 256),)](bits, packed, n, BLOCK=256)
