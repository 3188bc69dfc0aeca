import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, d1, d2, out):
        super(Model, self).__init__()
        self.bilinear = nn.Bilinear(d1, d2, out)

    def forward(self, left, right):
        return torch.tanh(self.bilinear(left, right))


def get_inputs():
    return [torch.randn(40, 12), torch.randn(40, 15)]


def get_init_inputs():
    return [12, 15, 7]
