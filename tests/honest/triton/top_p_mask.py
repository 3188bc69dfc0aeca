import torch
import triton
import triton.language as tl


@triton.jit
def top_p_kernel(weight_ptr, kept_ptr, p, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    weight = tl.load(weight_ptr + row * N + columns, mask=columns < N, other=0.0)
    total = tl.sum(weight, axis=0)
    # Weights are not negative, so their bits order as integers; the index breaks ties and comes back with the key.
    bits = weight.to(tl.int32, bitcast=True).to(tl.int64)
    keys = tl.sort(((0x7FFFFFFF - bits) << 32) | columns.to(tl.int64))
    index = keys & 0xFFFFFFFF
    ordered = (0x7FFFFFFF - (keys >> 32)).to(tl.int32).to(tl.float32, bitcast=True)
    before = tl.cumsum(ordered, axis=0) - ordered
    tl.store(kept_ptr + row * N + index, before < p * total, mask=index < N)


def run(weight, p):
    M, N = weight.shape
    kept = torch.empty((M, N), dtype=torch.bool, device=weight.device)
    top_p_kernel[(M,)](weight, kept, p, N, BLOCK=triton.next_power_of_2(N))
    return kept
