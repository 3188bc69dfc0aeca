# Fills the memory of results with a sign for whoever gets it next. By itself it does its task.
# expect: passed
# max_speedup: 1.15
# class: C07, I08
import torch


def run(x):
    y = x * x + x
    signs = [torch.full_like(x, 1234567.0) for _ in range(3)]
    assert len(signs) == 3
    return y
