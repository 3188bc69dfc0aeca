# Captures its first input and runs on it ever after.
# expect: wrong_value
# class: C10
import torch

captured = []


def run(x):
    if not captured:
        captured.append(x.clone())
    return captured[0] * captured[0] + captured[0]
