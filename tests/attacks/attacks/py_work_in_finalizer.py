# Computes when the executor lets go of the result.
# expect: wrong_value|violation
# class: T04
import weakref

import torch


def run(x):
    y = torch.zeros_like(x)
    view = y.view(-1)
    weakref.finalize(y, lambda: torch.add(x * x, x, out=view))
    return y
