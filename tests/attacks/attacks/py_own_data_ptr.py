# A plain tensor whose data_ptr() computes when it is asked: still within the call's time.
# expect: passed|runtime_error
# max_speedup: 1.15
# class: T05, T06
import torch


def run(x):
    y = torch.empty_like(x)
    address = y.data_ptr()

    def late():
        torch.add(x * x, x, out=y)
        return address

    y.data_ptr = late
    return y
