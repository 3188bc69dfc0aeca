# x s + x with one multiplication, folded into the layer's parameters once.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def prepare(self):
        factor = 1 + self.scaling_factor
        self.weight = (self.matmul.weight * factor).detach()
        self.bias = (self.matmul.bias * factor).detach()

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight.t())
