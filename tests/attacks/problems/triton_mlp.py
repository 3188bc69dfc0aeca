# Two small linear layers with a GELU between them, in KernelBench's form: small enough for Triton's interpreter.
import torch
import torch.nn as nn

batch_size = 6
features = 20


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, 2 * features)
        self.second = nn.Linear(2 * features, features)

    def forward(self, x):
        return self.second(nn.functional.gelu(self.first(x)))


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features]
