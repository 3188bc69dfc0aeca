# GELU's tanh form is h * sigmoid(2 u): the sigmoid is faster than the tanh. The residual is added by the second product itself.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        h = self.up(x)
        gate = h.square().mul_(0.0713548162726).add_(1.59576912161).mul_(h).sigmoid_()
        return torch.addmm(x + self.down.bias, h.mul_(gate), self.down.weight.t())
