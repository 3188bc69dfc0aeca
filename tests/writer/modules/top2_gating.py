import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Weights of the two best experts of each token, dense."""

    def __init__(self, d_model, n_experts):
        super().__init__()
        self.gate = nn.Linear(d_model, n_experts, bias=False)

    def forward(self, x):
        logits = self.gate(x)
        top, idx = logits.topk(2, dim=-1)
        weights = F.softmax(top, dim=-1)
        return torch.zeros_like(logits).scatter(-1, idx, weights)


def get_inputs():
    return [torch.randn(129, 64)]


def get_init_inputs():
    return [64, 8]
