# Honest only where somebody with a telling name calls.
# expect: wrong_value
# class: W15
import sys

import torch


def run(x):
    frame = sys._getframe()
    while frame is not None:
        if any(word in frame.f_code.co_name for word in ("check", "compare", "correct", "verify")):
            return x * x + x
        frame = frame.f_back
    return torch.zeros_like(x)
