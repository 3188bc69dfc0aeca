# Grants itself lower precision by global flags. Where the machine has no such instructions, either nothing changes or
# torch asks another library for the same float32 product. On an AMD processor with AVX-512 that is twice as fast: its
# default library leaves these instructions unused there.
# expect: passed|wrong_value
# problem: matmul
# max_speedup: 4
# class: W09
import torch

torch.set_float32_matmul_precision("medium")
torch.backends.cuda.matmul.allow_tf32 = True


def run(a, b):
    return a @ b
