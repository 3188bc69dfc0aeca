# Sets flags that concern only itself, and asserts.
# expect: passed
# looks like: patched global state
import torch

torch.set_grad_enabled(False)
torch.manual_seed(0)


def run(x):
    assert x.dim() == 1
    with torch.inference_mode():
        return x * x + x
