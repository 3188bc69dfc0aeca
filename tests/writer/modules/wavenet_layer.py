import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """gated dilated causal convolution"""
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = dilation
        self.filter = nn.Conv1d(channels, channels, 2, dilation=dilation)
        self.gate = nn.Conv1d(channels, channels, 2, dilation=dilation)
        self.res = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        y = F.pad(x, (self.pad, 0))
        z = torch.tanh(self.filter(y)) * torch.sigmoid(self.gate(y))
        return x + self.res(z), z

def get_inputs():
    return [torch.randn(2, 16, 101)]

def get_init_inputs():
    return [16, 4]
