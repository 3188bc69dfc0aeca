#!/usr/bin/env python3
"""Planted speed differences must be found: candidates that are slower than the reference by a known factor, with intervals that cover the truth.

    bench/planted.py [--problems softmax layer_norm matmul_square gelu] [--rounds 3] [--half-width 1] [--max-seconds 20]

The candidate is the reference, then busy for a known time by the monotonic clock: 1.02x, 1.05x, 1.2x, 2x of the baseline's median in the same verdict. The
baseline is the same program with no time to be busy for, since what is cold in a wrapper of Python costs 0.5 %. (The reference called twice is not twice as
slow: the second call finds its inputs in the cache.) "Found": the whole interval lies on the right side of 1.0. "Covers": it contains the true ratio. Of the intervals one in
twenty may miss the truth by its own statement: exit 1 when more do than chance allows (binomial test at 0.1 %), or when a difference is not found.
"""

import argparse
import json
import pathlib
import sys
import tempfile

from aa import REJECT_BELOW, STATED_MISS_RATE, tail_probability
from common import ROOT, add_program_option, evaluate, explain, private_home

FACTORS = (1.02, 1.05, 1.2, 2.0)

BUSY = """
import time as _time

_reference = run


def run({names}):
    value = _reference({names})
    end = _time.perf_counter() + {seconds}
    while _time.perf_counter() < end:
        pass
    return value
"""

def reference_of(problem):
    """(source, names of the inputs)"""
    definition = json.loads((problem / "definition.json").read_text())
    return definition["reference"], ", ".join(definition["inputs"])


def judge(arguments, problem, text, baseline, scratch, name):
    file = scratch / f"{name}.py"
    file.write_text(text)
    options = ["--half-width", str(arguments.half_width), "--max-seconds", str(arguments.max_seconds), "--baseline", str(baseline)]
    [(_, verdict)] = evaluate(arguments.program, problem, [file], options, private_home(scratch))
    return verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--problems", nargs="+", default=["softmax", "layer_norm", "matmul_square", "gelu"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--half-width", type=float, default=1.0)
    parser.add_argument("--max-seconds", type=float, default=20)
    arguments = parser.parse_args()
    intervals, missed, lost, untimed = 0, 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for name in arguments.problems:
            problem = ROOT / "problems" / name
            source, names = reference_of(problem)
            baseline = scratch / f"{name}_baseline.py"
            baseline.write_text(source + BUSY.format(names=names, seconds=0))
            first = judge(arguments, problem, source, baseline, scratch, "same")
            if not first["times"]:
                print(f"{name}: {explain(first)}")
                continue
            reference_ms = first["times"]["reference_ms"]
            for number in range(arguments.rounds):
                for factor in FACTORS:
                    busy_ms = (factor - 1) * reference_ms
                    text = source + BUSY.format(names=names, seconds=busy_ms / 1e3)
                    verdict = judge(arguments, problem, f"# {number}\n{text}", baseline, scratch, f"planted_{number}_{factor}".replace(".", "_"))
                    if not verdict["speedup"]:
                        untimed.append(f"{name} {factor}: {explain(verdict)}")
                        continue
                    # The time added is known; what share of the reference it is, the same verdict says.
                    truth = 1 / (1 + busy_ms / verdict["times"]["reference_ms"])
                    low, middle, high = (verdict["speedup"][key] for key in ("low", "median", "high"))
                    covers = low <= truth <= high
                    intervals += 1
                    missed += not covers
                    if high >= 1:
                        lost.append(f"{name} {factor}")
                    print(f"{name:16} {factor:.2f}x slower: truth {truth:.4f}, measured {middle:.4f} ({low:.4f} to {high:.4f})"
                          f"{'' if covers else '  MISSES THE TRUTH'}{'' if high < 1 else '  NOT FOUND'}", flush=True)
    chance = tail_probability(missed, intervals, STATED_MISS_RATE)
    print(f"{intervals} intervals: {missed} miss the truth (p = {chance:.3g}), {len(lost)} differences not found {lost}, {len(untimed)} without a time {untimed}")
    sys.exit(1 if chance < REJECT_BELOW or lost or not intervals else 0)


if __name__ == "__main__":
    main()
