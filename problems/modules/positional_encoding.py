# Linear layer over embeddings with sinusoidal position codes, which are a buffer that the forward pass reads.
import math

import torch
import torch.nn as nn

batch_size = 4
length = 256
width = 256
max_length = 512


class Model(nn.Module):
    def __init__(self, width, max_length):
        super().__init__()
        self.proj = nn.Linear(width, width)
        position = torch.arange(max_length, dtype=torch.float32)[:, None]
        frequency = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        encoding = torch.zeros(max_length, width)
        encoding[:, 0::2] = torch.sin(position * frequency)
        encoding[:, 1::2] = torch.cos(position * frequency)
        self.register_buffer("encoding", encoding)

    def forward(self, x):
        return self.proj(x + self.encoding[: x.shape[1]])


def get_inputs():
    return [torch.randn(batch_size, length, width)]


def get_init_inputs():
    return [width, max_length]
