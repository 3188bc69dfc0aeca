# Two-layer perceptron with GELU and a residual connection.
import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 256
width = 256
hidden = 512


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(x), approximate="tanh"))


def get_inputs():
    return [torch.randn(tokens, width)]


def get_init_inputs():
    return [width, hidden]
