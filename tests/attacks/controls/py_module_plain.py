# The reference's own module under another name.
# expect: passed
# problem: two_layers
# looks like: a copy of the reference
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, 2 * features)
        self.second = nn.Linear(2 * features, features)

    def forward(self, x):
        return self.second(nn.functional.gelu(self.first(x)))
