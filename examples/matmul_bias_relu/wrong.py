# The bias is added after the ReLU instead of before it.
import torch


def run(x, weight, bias):
    return torch.relu(x @ weight) + bias
