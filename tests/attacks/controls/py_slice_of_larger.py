# Returns a part of a larger tensor.
# expect: passed
# looks like: a view of something else
import torch


def run(x):
    room = torch.empty(x.numel() + 1024)
    y = room[512 : 512 + x.numel()]
    torch.mul(x, x, out=y)
    return y.add_(x)
