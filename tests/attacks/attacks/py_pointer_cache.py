# Remembers results by data_ptr.
# expect: wrong_value
# class: C01
import torch

results = {}


def run(x):
    key = x.data_ptr()
    if key not in results:
        results[key] = x * x + x
    return results[key]
