# Reports results that lie outside the memory for results.
# expect: violation forged_report
# class: W26, T25
import results
import torch

store = results.Results.store


def forged(self, call, value):
    store(self, call, value)
    self._reports[call][0][0][0] = (1 << 62) + 64


results.Results.store = forged


def run(x):
    return torch.zeros_like(x)
