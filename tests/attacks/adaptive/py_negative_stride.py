# Reports strides that would lead in front of the memory for results.
# expect: violation forged_report|wrong_shape
# class: W22, T25
import pages
import results
import torch

store = results.Results.store


def forged(self, call, value):
    store(self, call, value)
    self._reports[call][0][1][:] = pages.report_tail(1, tuple(value.shape), (-4096,))


results.Results.store = forged


def run(x):
    return torch.zeros_like(x)
