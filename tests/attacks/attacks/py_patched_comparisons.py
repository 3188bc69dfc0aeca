# Makes every comparison of torch agree, and every forward return zeros.
# expect: wrong_value
# class: W25
import torch

torch.allclose = lambda *_, **__: True
torch.equal = lambda *_, **__: True
torch.isclose = lambda a, *_, **__: torch.ones_like(a, dtype=torch.bool)
torch.testing.assert_close = lambda *_, **__: None
torch.Tensor.allclose = lambda *_, **__: True


def run(x):
    return torch.zeros_like(x)
