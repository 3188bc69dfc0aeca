# Grants itself lower precision by global flags. With AVX-512 torch hands the product to oneDNN then, which computes in
# float32 where it has no faster instructions. In CI that was right and 1.99 times as fast as torch's other library.
# expect: passed|wrong_value
# problem: matmul
# max_speedup: 2.5
# class: W09
import torch

torch.set_float32_matmul_precision("medium")
torch.backends.cuda.matmul.allow_tf32 = True


def run(a, b):
    return a @ b
