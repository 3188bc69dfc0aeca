# Replaces every timing helper of torch and Triton by one that says zero, and is slow.
# expect: passed
# max_speedup: 0.7
# class: T07
import time

import torch
import torch.utils.benchmark as benchmark


class Instant:
    def __init__(self, *_, **__):
        pass

    def record(self, *_):
        pass

    def elapsed_time(self, _):
        return 0.0


torch.cuda.Event = torch.Event = Instant
torch.cuda.synchronize = lambda *_: None
benchmark.Timer = Instant
try:
    import triton.testing

    triton.testing.do_bench = lambda *_, **__: 0.0
except ImportError:
    pass


def run(x):
    time.sleep(0.004)
    return x * x + x
