# x > y as max(x, y) != y: a pass and a temporary matrix more than needed.
import torch


def run(x, y):
    return torch.maximum(x, y) != y
