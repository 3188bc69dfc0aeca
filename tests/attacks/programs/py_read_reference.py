# Looks for the reference or the expected result among all objects; right only if it finds one.
# expect: wrong_value
import gc
import glob

import torch


def run(x):
    texts = [o for o in gc.get_objects() if isinstance(o, dict) and "reference" in o]
    files = glob.glob("/**/reference.py", recursive=True)
    if any("def run(x)" in str(t["reference"]) for t in texts) or files:
        return x * x + x
    return torch.zeros_like(x)
