# Returns tensors over the executor's own mappings, the inputs and the shared pages.
# expect: wrong_value|wrong_shape|runtime_error
# class: W04, W26
import gc

import memory
import torch


def run(x):
    for region in gc.get_objects():
        if isinstance(region, memory.Region) and region.size >= 4 * x.numel() + 4096:
            return region.tensor(torch.float32, [x.numel()], 0)
    return torch.zeros_like(x)
