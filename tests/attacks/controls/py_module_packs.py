# A module that transposes its weights in prepare.
# expect: passed
# problem: two_layers
# looks like: parameters replaced behind the checker's back
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, 2 * features)
        self.second = nn.Linear(2 * features, features)

    def prepare(self):
        self.packed_first = self.first.weight.t().contiguous()
        self.packed_second = self.second.weight.t().contiguous()

    def forward(self, x):
        hidden = torch.addmm(self.first.bias, x, self.packed_first)
        return torch.addmm(self.second.bias, nn.functional.gelu(hidden), self.packed_second)
