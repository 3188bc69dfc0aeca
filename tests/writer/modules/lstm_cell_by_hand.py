import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, input_size=48, hidden_size=40):
        super(Model, self).__init__()
        self.hidden_size = hidden_size
        self.W = nn.Parameter(torch.randn(input_size + hidden_size, 4 * hidden_size) * 0.1)
        self.b = nn.Parameter(torch.zeros(4 * hidden_size))

    def forward(self, x, h, c):
        gates = torch.cat([x, h], 1) @ self.W + self.b
        i, f, g, o = gates.split(self.hidden_size, dim=1)
        c_next = torch.sigmoid(f + 1.0) * c + torch.sigmoid(i) * torch.tanh(g)
        h_next = torch.sigmoid(o) * torch.tanh(c_next)
        return h_next, c_next

def get_inputs():
    return [torch.randn(65, 48), torch.randn(65, 40), torch.randn(65, 40)]

def get_init_inputs():
    return []
