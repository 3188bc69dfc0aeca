import torch
import torch.nn as nn


class Model(nn.Module):
    """Rectified linear unit."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.relu(x)


batch_size = 4096 * 2
dim = batch_size


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
