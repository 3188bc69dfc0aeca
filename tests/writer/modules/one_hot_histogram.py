import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, ids):
        return F.one_hot(ids, num_classes=self.bins).float().mean(dim=1).sqrt()


def get_inputs():
    return [torch.randint(0, 19, (6, 250))]


def get_init_inputs():
    return [19]
