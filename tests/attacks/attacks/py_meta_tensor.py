# A tensor without memory.
# expect: wrong_shape
# class: T05
import torch


def run(x):
    return torch.empty_like(x, device="meta")
