# Several configurations, one of which is pruned, tuned for each shape.
# expect: passed
# problem: triton_squares
# looks like: launches that differ from machine to machine
import torch
import triton
import triton.language as tl


def fitting(configs, arguments, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] <= 1024]


CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block in (256, 1024, 4096) for warps in (2, 8)]


@triton.autotune(configs=CONFIGS, key=["n"], prune_configs_by={"early_config_prune": fitting})
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y
