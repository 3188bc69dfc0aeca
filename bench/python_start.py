#!/usr/bin/env python3
"""The start of a Python candidate in its sandbox, forked from the zygote, against a fresh Python process that imports torch and triton.

    bench/python_start.py [--evaluations 30] [--fresh 9] [--problem problems/sum_rows] [--program build/dev/bin/kernelwright]

A start is `load_ms` of a workload in the evidence: from the request to the zygote until the candidate's file is loaded; an evaluation has one for each
of the problem's workloads. The fresh process is timed from its creation to its end, on both sides of each group of evaluations. Exit 1 when the
candidate fails.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from common import ROOT, VENV_PYTHON, add_program_option, evaluate, evidence_of, explain, median, numbered_copies, private_home, quantile

GROUPS = 3


def fresh_imports():
    has_triton = subprocess.run([VENV_PYTHON, "-c", "import triton"], capture_output=True).returncode == 0
    return "import torch, triton" if has_triton else "import torch"


def fresh_start_ms(imports):
    start = time.perf_counter()
    subprocess.run([VENV_PYTHON, "-c", imports], check=True)
    return 1e3 * (time.perf_counter() - start)


def load_times(arguments, candidates, scratch):
    """Of each workload of each evaluation, and of each evaluation as a whole."""
    starts, whole = [], []
    for _, verdict in evaluate(arguments.program, arguments.problem, candidates, ["--no-timing"], private_home(scratch)):
        if verdict["outcome"] != "passed":
            sys.exit(f"FAILED {explain(verdict)}")
        starts += [workload["cost"]["load_ms"] for workload in evidence_of(verdict)["workloads"]]
        whole.append(verdict["cost"]["load_ms"])
    return starts, whole


def show(name, values):
    print(f"{name:44} p50 {median(values):9.2f} ms   p99 {quantile(values, 0.99):9.2f} ms   max {max(values):9.2f} ms   of {len(values)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--evaluations", type=int, default=30)
    parser.add_argument("--fresh", type=int, default=9)
    parser.add_argument("--problem", type=pathlib.Path, default=ROOT / "problems/sum_rows")
    arguments = parser.parse_args()
    imports = fresh_imports()
    groups = min(GROUPS, arguments.evaluations)
    starts, whole, fresh = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        source = scratch / "trivial.py"
        source.write_text(json.loads((arguments.problem / "definition.json").read_text())["reference"])
        candidates = numbered_copies(source, scratch / "candidates", arguments.evaluations, "#")
        for group in range(groups):
            fresh += [fresh_start_ms(imports) for _ in range(arguments.fresh // (groups + 1))]
            group_starts, group_whole = load_times(arguments, candidates[group::groups], scratch)
            starts, whole = starts + group_starts, whole + group_whole
        while len(fresh) < arguments.fresh:
            fresh.append(fresh_start_ms(imports))
    if "triton" not in imports:
        print("triton is not installed: the fresh process imports torch only")
    show("candidate through the zygote, one start", starts)
    show("the same, all workloads of an evaluation", whole)
    show(f"fresh process, {imports}", fresh)
    print(f"ratio of the medians, fresh / one start: {median(fresh) / median(starts):.0f}x")


if __name__ == "__main__":
    main()
