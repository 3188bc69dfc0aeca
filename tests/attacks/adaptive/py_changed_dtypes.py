# Changes the executor's table of dtypes, so that half precision is announced as single.
# expect: wrong_value|wrong_dtype|violation|wrong_shape|runtime_error
# class: W08, W22
import dtypes
import results
import torch

results.number_of = dtypes.number_of = lambda *_: 1


def run(x):
    return (x * x + x).half()
