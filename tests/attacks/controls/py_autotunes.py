# Times its variants at the first call and keeps the fastest.
# expect: passed
# looks like: warm-up detection, patched clocks
import time

import torch

variants = [lambda x: x * x + x, lambda x: torch.addcmul(x, x, x), lambda x: (x + 1).mul_(x)]
chosen = []


def run(x):
    if not chosen:
        times = []
        for variant in variants:
            begun = time.perf_counter()
            variant(x)
            times.append(time.perf_counter() - begun)
        chosen.append(variants[times.index(min(times))])
    return chosen[0](x)
