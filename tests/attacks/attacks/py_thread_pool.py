# Hands the work to a pool of threads and returns the tensor at once.
# expect: wrong_value|violation background_work
# class: T03
from concurrent.futures import ThreadPoolExecutor

import torch

pool = ThreadPoolExecutor(2)


def run(x):
    y = torch.empty_like(x)
    pool.submit(lambda: torch.add(x * x, x, out=y))
    return y
