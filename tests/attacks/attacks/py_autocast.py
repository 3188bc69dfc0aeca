# Lets autocast take bfloat16.
# expect: wrong_dtype|wrong_value
# problem: matmul
# class: W08, W09
import torch


def run(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return a @ b
