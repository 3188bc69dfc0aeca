import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, groups):
        super(Model, self).__init__()
        self.g = groups

    def forward(self, x):
        """Channel shuffle: [N,C,H,W] -> [N,g,C/g,H,W] -> [N,C/g,g,H,w] -> [N,C,H,W]"""
        N, C, H, W = x.size()
        g = self.g
        return x.view(N, g, C // g, H, W).permute(0, 2, 1, 3, 4).reshape(x.size())


def get_inputs():
    return [torch.randn(3, 24, 14, 15)]


def get_init_inputs():
    return [3]
