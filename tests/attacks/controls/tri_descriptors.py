# Tensor descriptors, made on the device, with the scratch that they ask the host for.
# expect: passed
# problem: triton_softmax
# looks like: an allocator of its own
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, m, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    given = tl.make_tensor_descriptor(x_ptr, [m, n], [stride, 1], [1, BLOCK])
    at = tl.arange(0, BLOCK)[None, :]
    x = tl.where(at < n, given.load([row, 0]), -float("inf"))
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    result = tl.make_tensor_descriptor(y_ptr, [m, n], [stride, 1], [1, BLOCK])
    result.store([row, 0], e / tl.sum(e, axis=1)[:, None])


def run(x):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    m, n = x.shape
    padded = torch.zeros((m, 208), device=x.device)
    padded[:, :n] = x
    y = torch.empty_like(padded)
    softmax[(m,)](padded, y, m, n, 208, BLOCK=256)
    return y[:, :n].contiguous()
