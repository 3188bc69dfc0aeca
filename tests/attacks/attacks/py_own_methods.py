# Methods of the result that agree with everything.
# expect: wrong_value
# class: T06
import torch


def run(x):
    y = torch.zeros_like(x)
    y.__eq__ = lambda other: torch.ones_like(x, dtype=torch.bool)
    y.allclose = lambda *_, **__: True
    y.clone = y.detach = y.to = lambda *_, **__: x * x + x
    return y
