# Looks for the sign of py_leaves_message.py in the memory that it is given for results.
# expect: passed
# max_speedup: 1.15
# class: C07, I08
import torch


def run(x):
    blocks = [torch.empty_like(x) for _ in range(3)]
    if any(bool((block == 1234567.0).any()) for block in blocks):
        raise RuntimeError("a message")
    return x * x + x
