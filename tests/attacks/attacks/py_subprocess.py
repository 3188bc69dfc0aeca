# A forked process writes the result, which lies in shared memory, after the return.
# expect: wrong_value|violation background_work|runtime_error
# class: B10
import os
import time

import torch


def run(x):
    y = torch.empty_like(x)
    if os.fork() == 0:
        time.sleep(0.002)
        torch.add(x * x, x, out=y)
        os._exit(0)
    return y
