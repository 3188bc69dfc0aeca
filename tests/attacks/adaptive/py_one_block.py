# Reports the first call's block for every call of a launch.
# expect: wrong_value|passed
# problem: matvec_static
# max_speedup: 1.3
# class: C14, T25
import results
import torch

store = results.Results.store


def forged(self, call, value):
    store(self, call, value)
    self._reports[call][0][0][0] = self._reports[0][0][0][0]


results.Results.store = forged


def run(x, weight):
    return weight @ x
