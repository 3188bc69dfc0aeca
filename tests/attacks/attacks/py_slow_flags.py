# Turns every switch of torch to slow, for whoever runs beside it; it is a process of its own.
# expect: passed
# max_speedup: 1.2
# class: T20, W09, I01
import gc

import torch

torch.backends.mkldnn.enabled = False
torch.set_flush_denormal(False)
torch.backends.cudnn.benchmark = False
torch.set_default_dtype(torch.float64)
torch.use_deterministic_algorithms(True, warn_only=True)
gc.set_threshold(1)


def run(x):
    return x * x + x
