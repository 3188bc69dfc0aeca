# Constants that heuristics compute from the arguments.
# expect: passed
# problem: triton_squares
# looks like: constants that depend on arguments
import torch
import triton
import triton.language as tl


@triton.heuristics({"BLOCK": lambda args: min(1024, triton.next_power_of_2(args["n"])), "num_warps": lambda args: 4})
@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    squares[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y
