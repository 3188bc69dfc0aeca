# Half of the hidden layer.
# expect: wrong_value
# problem: two_layers
# class: W24
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, 2 * features)
        self.second = nn.Linear(2 * features, features)

    def forward(self, x):
        hidden = torch.nn.functional.gelu(
            torch.nn.functional.linear(x, self.first.weight[:384], self.first.bias[:384])
        )
        return torch.nn.functional.linear(hidden, self.second.weight[:, :384], self.second.bias)
