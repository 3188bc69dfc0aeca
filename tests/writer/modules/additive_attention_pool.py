import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, hidden):
        super(Model, self).__init__()
        self.attn = nn.Linear(hidden, hidden)
        self.v = nn.Parameter(torch.rand(hidden))

    def forward(self, seq, lengths):
        mask = torch.arange(seq.size(1), device=seq.device).unsqueeze(0) < lengths.unsqueeze(1)
        energy = torch.tanh(self.attn(seq)).matmul(self.v)
        energy = torch.where(mask, energy, torch.full_like(energy, -1e9))
        w = torch.softmax(energy, dim=1)
        return torch.bmm(w.unsqueeze(1), seq).squeeze(1)


def get_inputs():
    return [torch.randn(9, 26, 32), torch.randint(1, 27, (9,))]


def get_init_inputs():
    return [32]
