# The first compilation of a process takes a second more than the next: Triton hashes itself and loads its dialects, LLVM its targets.
# The zygote does that once, before it forks.
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    """A bit of everything that kernels of candidates are made of."""
    row = tl.arange(0, BLOCK)
    at = row[:, None] * n + row[None, :]
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        tile = tl.load(x + at + k, mask=at < n, other=0.0)
        sums += tl.dot(tile, tl.trans(tile))
    tl.store(y + at, tl.exp(sums) / tl.sum(sums, axis=1)[:, None], mask=at < n)


_ARCH = 90  # what is loaded is the same for all of NVIDIA's


def warm_up():
    """Compiles a kernel and forgets it. Leaves no thread, runs no tensor operation."""
    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    with tempfile.TemporaryDirectory() as folder, triton.knobs.cache.scope():
        triton.knobs.cache.dir = folder
        triton.compile(ASTSource(kernel, signature, {"BLOCK": 32}), target=GPUTarget("cuda", _ARCH, 32))
