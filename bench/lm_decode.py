#!/usr/bin/env python3
"""Decoding on CPU cores, tokens a second, beside transformers on the same cores in the same run.

    bench/lm_decode.py [--models 27M 0.5B] [--batches 1 8 32] [--rounds 3] [--threads 2] [--context 64]

Random weights. Ours: build/dev/bin/kw_lm_probe with float32, bfloat16 and int8 weights; peer: transformers in float32 with its default cache, greedy, a step of the whole
batch at a time. Rounds of all contestants follow each other; medians (smallest to largest). Start: from the start of the process to the first token of a 16-token prompt,
in turns, and each some times after itself (a virtual machine's host may take back memory that another process freed).
Needs transformers (requirements-test.txt). Correctness of the same program: tests/lm/hf_equality.py.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from common import ROOT, VENV_PYTHON

PROBE = ROOT / "build/dev/bin/kw_lm_probe"
SHAPES = {
    "27M": {"vocab_size": 8192, "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1408},
    "0.5B": {"vocab_size": 151936, "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864},
}
STEPS = {"27M": 40, "0.5B": 8}
PEER = r"""
import json, sys, time
import torch
from transformers import AutoModelForCausalLM
folder, threads, context = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(threads)
torch.set_grad_enabled(False)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
print("ready", flush=True)
for line in sys.stdin:
    batch, steps = map(int, line.split())
    out = model(torch.randint(0, 1000, (batch, context)), use_cache=True)
    cache, token = out.past_key_values, out.logits[:, -1:].argmax(-1)
    for step in range(steps + 2):
        if step == 2:
            start = time.perf_counter()
        out = model(token, past_key_values=cache, use_cache=True)
        token = out.logits[:, -1:].argmax(-1)
    print(batch * steps / (time.perf_counter() - start), flush=True)
"""
FIRST_TOKEN = r"""
import sys, torch
from transformers import AutoModelForCausalLM
torch.set_num_threads(int(sys.argv[2]))
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
print(model.generate(torch.tensor([list(range(1, 17))]), max_new_tokens=1, do_sample=False, pad_token_id=0)[0, -1].item())
"""


def random_model(scratch, name):
    """A folder of a model of that shape."""
    folder = pathlib.Path(scratch) / name
    config = folder.with_name(f"{name}.json")
    config.write_text(json.dumps({"model_type": "qwen2", "max_position_embeddings": 4096, "tie_word_embeddings": True, **SHAPES[name]}))
    subprocess.run([PROBE, "init", config, folder, "1", "float32"], check=True)
    return folder


def ours(folder, dtype, batch, arguments, steps):
    words = [PROBE, "speed", folder, dtype, batch, arguments.context, steps, arguments.threads]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["tokens_per_second"]


def spread(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def seconds_of(command):
    start = time.perf_counter()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout.split()[-1]


def print_starts(name, order, runs):
    seconds = {who: [second for other, second, _ in runs if other == who] for who in ("ours", "transformers")}
    print(f"{name} | start to first token, s, {order} | ours {spread(seconds['ours'])} | transformers {spread(seconds['transformers'])} | "
          f"{statistics.median(seconds['transformers']) / statistics.median(seconds['ours']):.1f} times", flush=True)


def compare(name, folder, arguments):
    peer = subprocess.Popen([VENV_PYTHON, "-c", PEER, folder, str(arguments.threads), str(arguments.context)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert peer.stdout.readline() == "ready\n"
    for batch in arguments.batches:
        steps = STEPS[name]
        results = {"float32": [], "bfloat16": [], "int8": [], "transformers": []}
        for _ in range(arguments.rounds):
            for dtype in ("float32", "bfloat16", "int8"):
                results[dtype].append(ours(folder, dtype, batch, arguments, steps))
            peer.stdin.write(f"{batch} {steps}\n")
            peer.stdin.flush()
            results["transformers"].append(float(peer.stdout.readline()))
        base = statistics.median(results["transformers"])
        print(f"{name} | {batch} | " + " | ".join(f"{spread(values)}" for values in results.values()) + " | "
              + " / ".join(f"{statistics.median(results[dtype]) / base:.2f}" for dtype in ("float32", "bfloat16", "int8")), flush=True)
    peer.stdin.close()
    peer.wait()
    commands = {"ours": [PROBE, "greedy", folder, "float32", 1, *range(1, 17)], "transformers": [VENV_PYTHON, "-c", FIRST_TOKEN, folder, arguments.threads]}
    turns = [(who, *seconds_of(command)) for _ in range(arguments.rounds) for who, command in commands.items()]
    if len({token for _, _, token in turns}) != 1:
        sys.exit(f"FAILED: first tokens {turns}")
    print_starts(name, "in turns", turns)
    after_itself = []
    for who, command in commands.items():
        seconds_of(command)
        after_itself += [(who, *seconds_of(command)) for _ in range(arguments.rounds)]
    print_starts(name, "each after itself", after_itself)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=64)
    arguments = parser.parse_args()
    print("model | batch | float32 | bfloat16 | int8 | transformers float32 | times as fast")
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.models:
            compare(name, str(random_model(scratch, name)), arguments)


if __name__ == "__main__":
    main()
