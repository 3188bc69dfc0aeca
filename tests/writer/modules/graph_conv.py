import torch
import torch.nn as nn

class Model(nn.Module):
    """Simple GCN layer, similar to https://arxiv.org/abs/1609.02907"""
    def __init__(self, in_features, out_features):
        super(Model, self).__init__()
        self.weight = nn.Parameter(torch.FloatTensor(in_features, out_features).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.FloatTensor(out_features).uniform_(-0.1, 0.1))

    def forward(self, input, adj):
        deg = adj.sum(1)
        d = deg.pow(-0.5)
        norm = d.unsqueeze(1) * adj * d.unsqueeze(0)
        return torch.spmm(norm, torch.mm(input, self.weight)) + self.bias

def get_inputs():
    adj = (torch.rand(60, 60) > 0.9).float() + torch.eye(60)
    return [torch.randn(60, 20), adj]

def get_init_inputs():
    return [20, 12]
