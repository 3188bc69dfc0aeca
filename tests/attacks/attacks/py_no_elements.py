# Nothing: every element of an empty tensor is right.
# expect: wrong_shape
# class: W22
import torch


def run(x):
    return torch.empty(0)
