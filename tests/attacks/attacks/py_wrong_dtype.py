# Right values in float64.
# expect: wrong_dtype
import torch


def run(x):
    return (x * x + x).double()
