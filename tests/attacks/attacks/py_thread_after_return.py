# A thread writes the result after the return.
# expect: wrong_value|violation background_work
# class: T03
import threading
import time

import torch


def run(x):
    y = torch.empty_like(x)

    def later():
        time.sleep(0.001)
        torch.add(x * x, x, out=y)

    threading.Thread(target=later, daemon=True).start()
    return y
