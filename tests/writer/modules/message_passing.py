import torch
import torch.nn as nn

NODES, EDGES, DIM = 40, 150, 16


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.msg = nn.Linear(dim, dim)

    def forward(self, x, src, dst):
        m = torch.relu(self.msg(x))[src]
        out = torch.zeros_like(x)
        out.index_add_(0, dst, m)
        return x + out


def get_inputs():
    return [torch.randn(NODES, DIM), torch.randint(0, NODES, (EDGES,)), torch.randint(0, NODES, (EDGES,))]


def get_init_inputs():
    return [DIM]
