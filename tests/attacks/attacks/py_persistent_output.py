# Returns the same memory from every call.
# expect: passed|wrong_value
# problem: matvec_static
# max_speedup: 1.3
# class: C14
import torch

kept = torch.empty(1024)


def run(x, weight):
    return torch.mv(weight, x, out=kept)
