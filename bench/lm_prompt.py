#!/usr/bin/env python3
"""Prompts of the engine on CPU cores, beside the rate of matrix products that the machine reaches in the same run.

    bench/lm_prompt.py [--models 27M 0.5B] [--tokens 512] [--rounds 5] [--threads 2]

Random weights. The rate of an engine is the operations of a prompt's products and attention (the head's for one token alone) a second. The machine's
is that of torch.mm in float32: the larger one of 2048 x 2048 x 2048 and of the model's own widest product. Rounds of all follow each other; medians
(smallest to largest).
"""

import argparse
import json
import statistics
import subprocess
import tempfile

from common import VENV_PYTHON
from lm_decode import PROBE, SHAPES, random_model, spread

MATRIX_RATE = r"""
import sys, time
import torch
torch.set_num_threads(int(sys.argv[1]))
operands = [(torch.randn(m, k), torch.randn(k, n)) for m, k, n in ((2048, 2048, 2048), tuple(map(int, sys.argv[2:5])))]
print("ready", flush=True)
for line in sys.stdin:
    rates = []
    for x, y in operands:
        torch.mm(x, y)
        begun = time.perf_counter()
        for _ in range(3):
            torch.mm(x, y)
        rates.append(6 * x.shape[0] * x.shape[1] * y.shape[1] / (time.perf_counter() - begun))
    print(max(rates), flush=True)
"""


def operations(shape, tokens):
    """Of a prompt, without the head."""
    hidden, heads, inner = shape["hidden_size"], shape["num_attention_heads"], shape["intermediate_size"]
    head_dim = hidden // heads
    layer = hidden * (heads + 2 * shape["num_key_value_heads"]) * head_dim + heads * head_dim * hidden + 3 * hidden * inner
    attended = 2 * heads * head_dim * (tokens + 1) / 2
    return 2 * shape["num_hidden_layers"] * tokens * (layer + attended)


def compare(name, folder, arguments):
    shape = SHAPES[name]
    words = [VENV_PYTHON, "-c", MATRIX_RATE, arguments.threads, arguments.tokens, shape["hidden_size"], 2 * shape["intermediate_size"]]
    machine, ours = [], {"float32": [], "bfloat16": [], "int8": []}
    with subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        assert peer.stdout.readline() == "ready\n"
        for _ in range(arguments.rounds):
            for dtype, rates in ours.items():
                command = [PROBE, "prompt", folder, dtype, arguments.tokens, 2, arguments.threads]
                done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
                rates += json.loads(done.stdout)["tokens_per_second"]
            peer.stdin.write("\n")
            peer.stdin.flush()
            machine.append(float(peer.stdout.readline()) / 1e9)
        peer.stdin.close()
    print(f"{name}: products of torch reach {spread(machine)} GFLOP/s")
    for dtype, rates in ours.items():
        work = operations(shape, arguments.tokens) / arguments.tokens / 1e9
        shares = [rate * work for rate in rates]
        print(f"  {dtype}: {spread(rates)} tokens/s, {spread(shares)} GFLOP/s, {spread([100 * share / statistics.median(machine) for share in shares])} % of it", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.models:
            compare(name, str(random_model(scratch, name)), arguments)


if __name__ == "__main__":
    main()
