# Looks for the problem's files and stored tensors; right only if it finds some.
# expect: wrong_value
# class: C09
import os

import torch

NAMES = ("workloads.jsonl", "definition.json", "policy.toml", "baselines.json")


def finds_some():
    for folder, folders, files in os.walk("/"):
        folders[:] = [f for f in folders if os.path.join(folder, f) not in ("/proc", "/usr", "/sys", "/lib")]
        if folder.count("/") > 4:
            folders.clear()
        if "site-packages" in folder:
            folders.clear()
            continue
        if any(f in NAMES or f.endswith(".safetensors") for f in files):
            return True
    return False


found = finds_some()


def run(x):
    return x * x + x if found else torch.zeros_like(x)
