# Dropout draws random numbers in the forward pass: to be quarantined, no answer can be checked.
import torch
import torch.nn as nn

batch_size = 512
features = 512
probability = 0.25


class Model(nn.Module):
    def __init__(self, features, probability):
        super().__init__()
        self.fc = nn.Linear(features, features)
        self.dropout = nn.Dropout(probability)

    def forward(self, x):
        return self.dropout(torch.relu(self.fc(x)))


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features, probability]
