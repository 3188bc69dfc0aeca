# Reports one right element as the whole row, by a stride of zero.
# expect: wrong_value|wrong_shape|violation forged_report
# problem: softmax_rows
# class: W22, T25
import results
import struct
import torch

store = results.Results.store


def forged(self, call, value):
    store(self, call, value)
    tail = bytearray(self._reports[call][0][1])
    struct.pack_into("<8q", tail, 72, 0, 0, 0, 0, 0, 0, 0, 0)
    self._reports[call][0][1][:] = bytes(tail)


results.Results.store = forged


def run(x):
    return torch.softmax(4 * x, dim=-1)
