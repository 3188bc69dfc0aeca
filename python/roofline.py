# What a GPU allows for a workload (docs/gpu.md): the products that its reference computes, and the rates of a copy and of a product.
# Importing this file touches no GPU.
import torch

from dispatch_mode import DispatchMode

COPIES, PRODUCTS = 5, 4  # the fastest counts: others may use the GPU
COPY_BYTES = 256 << 20  # more than its cache
# Rows of the square matrices: a product takes 1 to 3 ms on an H100.
PRODUCT_ROWS = {torch.float64: 4096, torch.float32: 4096, torch.bfloat16: 8192, torch.float16: 8192}


class _Counter(DispatchMode):
    """Adds up the operations of products and convolutions by torch's own table. torch's FlopCounterMode imports torch.compile's modules: 2 s."""

    def __init__(self, table):
        super().__init__()
        self.total = 0
        self._table = table

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload):
            return func(*args, **kwargs)
        count = self._table.get(func._overloadpacket)
        if count is None:
            with self:
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        out = func(*args, **kwargs)
        if count is not None:
            self.total += count(*args, **kwargs, out_val=out)
        return out


def count_flops(run):
    """Operations of the products and convolutions of run(): two for each multiplication with its addition."""
    from torch.utils.flop_counter import flop_registry

    with _Counter(flop_registry) as counter:
        run()
    return int(counter.total)


def _fastest_seconds(work, count):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    seconds = []
    for _ in range(count + 1):  # the first one warms up
        begin.record()
        work()
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    return min(seconds[1:])


def copy_rate(device):
    """Bytes a second that a copy reads and writes."""
    source = torch.zeros(COPY_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * COPY_BYTES / _fastest_seconds(lambda: target.copy_(source), COPIES)


def product_rate(device, dtype):
    """Operations a second of a product of two square matrices, at the precision that torch is set to; 0 for a dtype without products."""
    rows = PRODUCT_ROWS.get(dtype)
    if rows is None:
        return 0
    left, right = (torch.randn(rows, rows, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(left)
    return 2 * rows**3 / _fastest_seconds(lambda: torch.mm(left, right, out=out), PRODUCTS)


def product_dtype(dtypes):
    """The dtype whose products a reference with these tensors computes: the first floating one."""
    return next((dtype for dtype in dtypes if dtype in PRODUCT_ROWS), None)


def measure(run, device, dtypes):
    """The facts as a dictionary. dtypes: of the workload's tensors, in order; run(): the reference."""
    flops = count_flops(run)
    dtype = product_dtype(dtypes) if flops else None
    return {
        "flops": flops,
        "bytes_per_second": copy_rate(device),
        "flops_per_second": product_rate(device, dtype) if dtype else 0,
        "precision": str(dtype).removeprefix("torch.") if dtype else "",
    }
