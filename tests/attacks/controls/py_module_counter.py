# A module that counts its calls in an attribute.
# expect: passed
# problem: two_layers
# looks like: phase detection by call count
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, 2 * features)
        self.second = nn.Linear(2 * features, features)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.second(nn.functional.gelu(self.first(x)))
