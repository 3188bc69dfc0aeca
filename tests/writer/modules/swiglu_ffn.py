import torch, torch.nn as nn, torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, dim: int, hidden: int, multiple_of: int = 8):
        super().__init__()
        hidden = int(2 * hidden / 3)
        hidden = multiple_of * ((hidden + multiple_of - 1) // multiple_of)
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))

def get_inputs(): return [torch.randn(2, 37, 64)]
def get_init_inputs(): return [64, 256]
