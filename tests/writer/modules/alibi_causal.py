import torch
import torch.nn as nn


class Model(nn.Module):
    """Causal attention with linear biases."""

    def __init__(self, heads: int, dim: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        slopes = torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)])
        self.register_buffer("slopes", slopes.view(1, heads, 1, 1))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        pos = torch.arange(t, device=x.device)
        bias = self.slopes * (pos[None, :] - pos[:, None]).to(x.dtype)
        att = q @ k.transpose(-2, -1) * (q.size(-1) ** -0.5) + bias
        mask = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        att = att.masked_fill(~mask, float("-inf")).softmax(-1)
        return self.out((att @ v).transpose(1, 2).reshape(b, t, d))


def get_inputs():
    return [torch.randn(2, 29, 48)]


def get_init_inputs():
    return [4, 48]
