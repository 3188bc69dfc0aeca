import torch
import torch.nn as nn


class Model(nn.Module):
    """A few rounds of Sinkhorn normalisation in the log domain."""

    def __init__(self, n_iters: int = 4):
        super().__init__()
        self.n_iters = n_iters

    def forward(self, log_alpha: torch.Tensor) -> torch.Tensor:
        for _ in range(self.n_iters):
            log_alpha = log_alpha - torch.logsumexp(log_alpha, -1, keepdim=True)
            log_alpha = log_alpha - torch.logsumexp(log_alpha, -2, keepdim=True)
        return log_alpha.exp()


def get_inputs():
    return [torch.randn(8, 30, 30)]


def get_init_inputs():
    return [4]
