#!/usr/bin/env python3
"""SFT on CPU cores, tokens a second, beside the same training with transformers in the same run.

    bench/train_cpu.py [--program build/torch/bin/kernelwright-train] [--models 27M 0.5B] [--dtypes float32 bfloat16] [--rounds 3] [--rows 8] [--threads 2]
                       [--compile]

A step is 8 rows of 512 tokens with AdamW and the norm of gradients clipped. transformers takes the same weights and rows with sdpa, all rows at once or
one at a time (0.5B, whose logits would not fit), its blocks compiled with --compile. Weights are float32 on both sides; with bfloat16 ours multiplies
copies of them, and transformers runs under autocast. Each round runs both from the start for as many steps; the first step is left out of the rates.
The losses of both must agree to 1e-4 of themselves, or 5e-3 with bfloat16.
Medians (smallest to largest).
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

from common import ROOT, VENV_PYTHON
from lm_decode import SHAPES, random_model

sys.path.insert(0, str(ROOT / "tests/lm"))
import tiny_model  # noqa: E402

TOKENS = 512
STEPS = {"27M": 5, "0.5B": 1}
ROWS_AT_ONCE = {"27M": 8, "0.5B": 1}
APART = {"float32": 1e-4, "bfloat16": 5e-3}
PEER = r"""
import json, sys, time
import torch
from transformers import AutoModelForCausalLM
folder, rows, dtype, steps, at_once, threads, compiled = *sys.argv[1:4], *map(int, sys.argv[4:8])
torch.set_num_threads(threads)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").train()
if compiled:
    for layer in model.model.layers:
        layer.compile()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, betas=(0.9, 0.95), weight_decay=0, fused=True)
tokens = torch.tensor([json.loads(line)["tokens"] for line in open(rows)])
per_step = len(tokens) // (steps + 1)
losses = []
for step in range(steps + 1):
    if step == 1:
        begun = time.perf_counter()
    batch, loss = tokens[step * per_step:(step + 1) * per_step], 0
    for part in batch.split(at_once):
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
            logits = model(part[:, :-1], use_cache=False).logits
            one = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), part[:, 1:].flatten(), reduction="sum") / batch[:, 1:].numel()
        one.backward()
        loss += one.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss)
rate = steps * batch[:, 1:].numel() / (time.perf_counter() - begun)
print(json.dumps({"tokens_per_second": rate, "losses": losses}))
"""


def write_inputs(scratch, name, per_step):
    """The folder of a model with a tokenizer, and the file of rows."""
    folder = random_model(scratch, name)
    (folder / "tokenizer.json").write_text(json.dumps(tiny_model.tokenizer_json(600)))
    draw = random.Random(1)
    rows = folder.with_name("rows.jsonl")
    with rows.open("w") as out:  # a token more than is learnt
        for _ in range(per_step * (STEPS[name] + 1)):
            out.write(json.dumps({"tokens": [draw.randrange(1000) for _ in range(TOKENS + 1)]}) + "\n")
    return folder, rows


def ours(folder, rows, name, dtype, arguments):
    step_tokens = arguments.rows * TOKENS
    with tempfile.TemporaryDirectory() as run:
        settings = {"model": folder, "run": f"{run}/run", "data": rows, "max_tokens": TOKENS + 1, "step_tokens": step_tokens, "micro_tokens": step_tokens,
                    "steps": STEPS[name] + 1, "learning_rate": 1e-5, "schedule": "constant", "weight_decay": 0, "save_every": 10 ** 6, "device": "cpu", "dtype": dtype,
                    "shuffle": "false", "threads": arguments.threads}
        words = [arguments.program, "sft", *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{arguments.program}: {done.stderr.strip()[-500:]}")
        lines = [json.loads(line) for line in (pathlib.Path(run) / "run/metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if "tokens" in line]
    seconds = lines[-1]["seconds"] - lines[0]["seconds"]
    return {"tokens_per_second": sum(line["tokens"] for line in lines[1:]) / seconds, "losses": [line["loss"] for line in lines]}


def theirs(folder, rows, name, dtype, arguments):
    words = [VENV_PYTHON, "-c", PEER, folder, rows, dtype, STEPS[name], ROWS_AT_ONCE[name], arguments.threads, int(arguments.compile)]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"transformers: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def spread(values):
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def compare(name, dtype, arguments):
    with tempfile.TemporaryDirectory() as scratch:
        folder, rows = write_inputs(scratch, name, arguments.rows)
        results = {"ours": [], "transformers": []}
        for _ in range(arguments.rounds):
            mine, peer = (run(folder, rows, name, dtype, arguments) for run in (ours, theirs))
            results["ours"].append(mine["tokens_per_second"])
            results["transformers"].append(peer["tokens_per_second"])
            apart = max(abs(a - b) / b for a, b in zip(mine["losses"], peer["losses"]))
            if len(mine["losses"]) != len(peer["losses"]) or apart > APART[dtype]:
                sys.exit(f"FAILED: losses {mine['losses']} and {peer['losses']}")
        times = statistics.median(results["ours"]) / statistics.median(results["transformers"])
        print(f"{name}, {dtype}: ours {spread(results['ours'])} tokens/s, transformers {spread(results['transformers'])}, {times:.2f} times; "
              f"losses of {STEPS[name] + 1} steps differ by {apart:.1e} of themselves", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/torch/bin/kernelwright-train")
    parser.add_argument("--models", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--dtypes", nargs="+", choices=APART, default=list(APART))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=8, help="of 512 tokens in a step")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true", help="transformers' blocks by torch.compile")
    arguments = parser.parse_args()
    for name in arguments.models:
        for dtype in arguments.dtypes:
            compare(name, dtype, arguments)


if __name__ == "__main__":
    main()
