# Batch statistics remove any constant from a column, so the linear layer's bias matters to the running mean only.
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.fc = nn.Linear(in_features, out_features)
        self.bn = nn.BatchNorm1d(out_features)

    def forward(self, x):
        y = self.bn(F.linear(x, self.fc.weight))
        self.bn.running_mean.add_(self.fc.bias, alpha=self.bn.momentum)
        return y.relu_()
