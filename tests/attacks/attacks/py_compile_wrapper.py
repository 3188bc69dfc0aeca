# The reference through torch.compile, which works in the first call. Libraries are allowed here: only the time counts.
# expect: passed|timeout|runtime_error
# max_speedup: 8
# class: B06
import torch


@torch.compile
def run(x):
    return x * x + x
