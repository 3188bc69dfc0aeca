# The linear layer one row at a time.
import torch


def run(x, weight, bias, y):
    for row in range(x.shape[0]):
        y[row] = torch.relu(x[row] @ weight + bias)
