# The variance by squares and means.
# expect: passed
# problem: norm_affine
# looks like: another formula
import torch


def run(x, weight, bias):
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + 1e-5) * weight + bias
