# Right values in float64.
# expect: wrong_dtype
# class: W22
import torch


def run(x):
    return (x * x + x).double()
