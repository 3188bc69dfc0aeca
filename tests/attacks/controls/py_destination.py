# Writes into the output that it is given.
# expect: passed
# looks like: writing to shared memory
import torch


def run(x, y):
    torch.mul(x, x, out=y)
    y.add_(x)
