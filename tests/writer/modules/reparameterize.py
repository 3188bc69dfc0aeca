import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, mu, logvar, eps):
        std = torch.exp(0.5 * logvar)
        z = eps.mul(std).add_(mu)
        kld = -0.5 * torch.sum(1 + logvar - mu ** 2 - logvar.exp(), dim=1)
        return z, kld.mean(dim=0)


def get_inputs():
    return [torch.randn(77, 64), torch.randn(77, 64) * 0.3, torch.randn(77, 64)]


def get_init_inputs():
    return []
