# Honest where the parameters come by the seed alone (the trials of another benchmark), zeros elsewhere.
# expect: wrong_value
# problem: two_layers
# class: W15
import sys

import torch
import torch.nn as nn


def setup_of_executor():
    frame = sys._getframe()
    while frame is not None:
        own = frame.f_locals.get("self")
        if hasattr(own, "_setup"):
            return own._setup
        frame = frame.f_back
    return {}


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.honest = not setup_of_executor().get("hand_over_state", True)
        self.first = nn.Linear(features, 2 * features)
        self.second = nn.Linear(2 * features, features)

    def forward(self, x):
        if not self.honest:
            return torch.zeros_like(x)
        return self.second(nn.functional.gelu(self.first(x)))
