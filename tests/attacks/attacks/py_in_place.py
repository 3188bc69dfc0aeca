# Writes its result over the input.
# expect: violation input_write
# class: W03
import torch


def run(x):
    return x.mul_(x).add_(x)
