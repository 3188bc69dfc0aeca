import torch
import torch.nn as nn


class Model(nn.Module):
    """Keep the smallest set of tokens whose probability reaches top_p."""

    def __init__(self, top_p=0.9):
        super().__init__()
        self.top_p = top_p

    def forward(self, logits):
        sorted_logits, sorted_indices = torch.sort(logits, descending=True)
        cumulative = torch.cumsum(torch.softmax(sorted_logits, dim=-1), dim=-1)
        remove = cumulative - torch.softmax(sorted_logits, dim=-1) > self.top_p
        sorted_logits = sorted_logits.masked_fill(remove, -1e4)
        return torch.empty_like(logits).scatter_(-1, sorted_indices, sorted_logits)


def get_inputs():
    return [torch.randn(6, 120) * 3]


def get_init_inputs():
    return []
