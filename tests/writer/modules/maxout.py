import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, d_in, d_out, pool_size):
        super().__init__()
        self.d_out, self.pool_size = d_out, pool_size
        self.lin = nn.Linear(d_in, d_out * pool_size)

    def forward(self, inputs):
        shape = list(inputs.size())
        shape[-1] = self.d_out
        shape.append(self.pool_size)
        out = self.lin(inputs)
        m, _ = out.view(*shape).max(len(shape) - 1)
        return m


def get_inputs():
    return [torch.randn(4, 9, 36)]


def get_init_inputs():
    return [36, 20, 3]
