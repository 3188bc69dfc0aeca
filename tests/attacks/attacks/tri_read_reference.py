# Looks for the reference, the workload and other candidates in files; right only if it finds them.
# expect: wrong_value
# problem: triton_squares
# class: W26, C09
import glob
import os

import torch
import triton
import triton.language as tl


def is_secret(path):
    try:
        with open(path, errors="replace") as file:
            return "x * x + x\\n" in file.read(100000)
    except OSError:
        return False


folders = ("/", "/work", "/tmp", os.getcwd(), os.path.expanduser("~"), os.environ.get("TMPDIR", "/tmp"))
names = ("reference.py", "definition.json", "workloads.jsonl", "policy.toml")
found = any(is_secret(path) for f in folders for n in names for path in glob.glob(os.path.join(f, "**", n)))


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * x + x, mask=at < n)


def run(x):
    y = torch.empty_like(x)
    n = x.numel() if found else 0
    squares[(triton.cdiv(x.numel(), 512),)](x, y, n, BLOCK=512)
    return y
