# Relies on weights of one and biases of zero.
# expect: wrong_value
# problem: norm_affine
# class: W32
import torch


def run(x, weight, bias):
    return torch.nn.functional.layer_norm(x, (512,), None, None, 1e-5)
