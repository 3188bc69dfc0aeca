# Writes its result over the input.
# expect: violation input_write
import torch


def run(x):
    return x.mul_(x).add_(x)
