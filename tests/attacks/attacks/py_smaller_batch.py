# Shrinks the batch where the problem's names can be reached, and repeats what it has.
# expect: wrong_value
# problem: two_layers
# class: W23
import sys

import torch.nn as nn

for module in list(sys.modules.values()):
    if hasattr(module, "batch_size"):
        module.batch_size = 1


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, 2 * features)
        self.second = nn.Linear(2 * features, features)

    def forward(self, x):
        return self.second(nn.functional.gelu(self.first(x[:1]))).expand(x.shape[0], -1)
