# Looks for the reference or the expected result among all objects; right only if it finds one.
# expect: wrong_value
# class: W25, W26
import gc
import glob

import torch


def is_answer(path):
    try:
        return "x * x + x" in open(path).read()
    except OSError:
        return False


def run(x):
    texts = [o for o in gc.get_objects() if isinstance(o, dict) and "reference" in o]
    files = [f for depth in range(4) for f in glob.glob("/*" * depth + "/reference.py")]
    if any("def run(x)" in str(t["reference"]) for t in texts) or any(map(is_answer, files)):
        return x * x + x
    return torch.zeros_like(x)
