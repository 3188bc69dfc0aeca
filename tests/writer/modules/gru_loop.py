import torch
import torch.nn as nn

T, N, D = 5, 9, 20


class Model(nn.Module):
    """Unrolled minimal gated unit."""
    def __init__(self, d):
        super().__init__()
        self.wf = nn.Linear(2 * d, d)
        self.wh = nn.Linear(2 * d, d)

    def forward(self, xs):
        h = torch.zeros_like(xs[0])
        outs = []
        for x in xs:
            f = torch.sigmoid(self.wf(torch.cat((x, h), dim=-1)))
            cand = torch.tanh(self.wh(torch.cat((x, f * h), dim=-1)))
            h = (1 - f) * h + f * cand
            outs.append(h)
        return torch.stack(outs)


def get_inputs():
    return [torch.randn(T, N, D)]


def get_init_inputs():
    return [D]
