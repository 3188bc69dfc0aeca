# Patches every clock of its process and sleeps; the checker's clock is elsewhere.
# expect: passed
# max_speedup: 0.7
# class: T07
import time

import torch

real_sleep = time.sleep
time.perf_counter = time.monotonic = time.time = lambda: 0.0
time.perf_counter_ns = time.monotonic_ns = time.time_ns = lambda: 0


def run(x):
    real_sleep(0.003)
    return x * x + x
