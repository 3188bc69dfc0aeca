import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, queries, keys, values):
        Q = F.elu(queries) + 1
        K = F.elu(keys) + 1
        KV = torch.einsum("nshd,nshm->nhmd", K, values)
        Z = 1 / (torch.einsum("nlhd,nhd->nlh", Q, K.sum(dim=1)) + self.eps)
        V = torch.einsum("nlhd,nhmd,nlh->nlhm", Q, KV, Z)
        return V.contiguous()

def get_inputs():
    return [torch.randn(2, 35, 3, 16), torch.randn(2, 35, 3, 16), torch.randn(2, 35, 3, 16)]

def get_init_inputs():
    return []
