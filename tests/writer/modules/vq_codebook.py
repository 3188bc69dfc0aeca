import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    """Nearest code of a codebook for each normalised token."""

    def __init__(self, num_codes, dim):
        super().__init__()
        self.norm = nn.RMSNorm(dim)
        self.codebook = nn.Embedding(num_codes, dim)

    def forward(self, tokens):
        h = self.norm(tokens)
        flat = h.reshape(-1, h.size(-1))
        dist = flat.pow(2).sum(dim=1, keepdim=True) - 2 * flat @ self.codebook.weight.t()
        dist = dist + self.codebook.weight.pow(2).sum(dim=1)
        idx = torch.min(dist, dim=1, keepdim=True)[1]
        return F.embedding(idx.squeeze(1), self.codebook.weight).view_as(h)


def get_inputs():
    return [torch.randn(3, 21, 24)]


def get_init_inputs():
    return [37, 24]
