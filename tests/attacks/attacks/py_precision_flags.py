# Grants itself lower precision by global flags. Where the machine has no such instructions nothing changes.
# expect: passed|wrong_value
# problem: matmul
# max_speedup: 1.2
# class: W09
import torch

torch.set_float32_matmul_precision("medium")
torch.backends.cuda.matmul.allow_tf32 = True


def run(a, b):
    return a @ b
