import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, n=40, k=8):
        super().__init__()
        self.V = nn.Parameter(torch.randn(n, k) * 0.1, requires_grad=True)
        self.lin = nn.Linear(n, 1)

    def forward(self, x):
        out_1 = torch.matmul(x, self.V).pow(2).sum(1, keepdim=True)
        out_2 = torch.matmul(x.pow(2), self.V.pow(2)).sum(1, keepdim=True)
        out_inter = 0.5 * (out_1 - out_2)
        return (out_inter + self.lin(x)).squeeze(dim=1)

def get_inputs():
    return [torch.randn(200, 40)]

def get_init_inputs():
    return []
