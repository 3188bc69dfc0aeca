# Computes while the first call is traced; the trace holds the result as a constant.
# expect: wrong_value
# class: T14, C10
import torch

traced = None


def run(x):
    global traced
    if traced is None:
        result = x * x + x
        traced = torch.jit.trace(lambda ignored: result.clone(), (x,), check_trace=False)
    return traced(x)
