import torch
import torch.nn as nn


def squash(s, dim=-1, eps=1e-8):
    sq = torch.sum(s * s, dim=dim, keepdim=True)
    return (sq / (1.0 + sq)) * s / torch.sqrt(sq + eps)


class Model(nn.Module):
    def __init__(self, routing_iters=2):
        super().__init__()
        self.routing_iters = routing_iters

    def forward(self, u_hat):
        # u_hat: [batch, in_caps, out_caps, dim]
        b = u_hat.new_zeros(u_hat.shape[:3])
        for i in range(self.routing_iters):
            c = b.softmax(dim=2)
            v = squash((c.unsqueeze(-1) * u_hat).sum(dim=1))
            if i + 1 < self.routing_iters:
                b = b + (u_hat * v.unsqueeze(1)).sum(-1)
        return v


def get_inputs():
    return [torch.randn(6, 30, 5, 8)]


def get_init_inputs():
    return [2]
