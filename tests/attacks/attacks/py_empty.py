# Returns fresh memory, which may hold an old answer.
# expect: wrong_value
# class: W01
import torch


def run(x):
    return torch.empty_like(x)
