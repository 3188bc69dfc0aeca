#!/usr/bin/env python3
"""What one launch costs without calls: waking the frozen candidate, its answer, and freezing it again; against spinning, without the freeze.

    bench/launch_latency.py [--evaluations 30] [--problem problems/relu] [--candidate FILE] [--groups 3] [--program build/dev/bin/kernelwright]

The numbers are `null_launch_ns` of each timed workload in the evidence: the median of eleven launches of one C++ executor. This is what is subtracted from every
time, so it is no part of a result, but it bounds how many launches fit a second. The two ways take turns. Exit 1 when the candidate fails.
"""

import argparse
import pathlib
import sys
import tempfile

from common import ROOT, add_program_option, evaluate, evidence_of, explain, median, numbered_copies, private_home, quantile


def null_launches(arguments, candidates, options, environment):
    """Microseconds, one a workload."""
    found = []
    for _, verdict in evaluate(arguments.program, arguments.problem, candidates, ["--half-width", "50", *options], environment):
        if verdict["outcome"] not in ("passed", "noisy"):
            sys.exit(f"FAILED {explain(verdict)}")
        found += [workload["null_launch_ns"] / 1e3 for workload in evidence_of(verdict)["workloads"] if workload["timed"]]
    return found


def show(name, values):
    print(f"{name:24} p50 {median(values):8.2f} us   p90 {quantile(values, 0.9):8.2f} us   min {min(values):8.2f} us   of {len(values)} executors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--evaluations", type=int, default=30)
    parser.add_argument("--problem", type=pathlib.Path, default=ROOT / "problems/relu")
    parser.add_argument("--candidate", type=pathlib.Path, default=ROOT / "examples/relu/good.cpp")
    parser.add_argument("--groups", type=int, default=3)
    arguments = parser.parse_args()
    groups = max(1, min(arguments.groups, arguments.evaluations))
    frozen, spinning = [], []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        environment = private_home(scratch)
        candidates = numbered_copies(arguments.candidate, scratch / "candidates", arguments.evaluations)
        for group in range(groups):
            frozen += null_launches(arguments, candidates[group::groups], [], environment)
            spinning += null_launches(arguments, candidates[group::groups], ["--disable", "freeze", "--disable", "cpu_witness"], environment)
    show("with freezing", frozen)
    show("--disable freeze", spinning)
    print(f"ratio of the medians, with / without: {median(frozen) / median(spinning):.0f}x")


if __name__ == "__main__":
    main()
