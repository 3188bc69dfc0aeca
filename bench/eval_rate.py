#!/usr/bin/env python3
"""Verdicts per minute on C++ candidates, against a harness that starts a fresh Python process per candidate (bench/peer_harness.py).

    bench/eval_rate.py [--candidates 10] [--peers 10] [--problems NAME...] [--large-order N] [--max-seconds 30] [--jobs 1]
                       [--half-width PERCENT] [--extensions 0] [--program build/dev/bin/kernelwright]

Problems: relu, softmax, layer_norm, matmul_square (references up to 5 ms) and matmul_large, whose reference takes about 50 ms (--large-order chooses
its matrices' order; without it, it is estimated). Each problem gets four series in one run: ours and the peer, first with candidates that were never
built, then with the same candidates again; --extensions more peers build through torch's load_inline, as C++ candidates of KernelBench do. Ours measures until its interval is as narrow as the median of the peer's, computed by the same method
(autocorrelation and what one pair of processes cannot show included) from the peer's 100 pairs, or as narrow as --half-width says. Ours judges every workload with a few sizes and distributions, the peer the first one only. The first verdict
of a series has start-up (and, not cached, admission) in it and is shown apart. A verdict without an interval (noisy, or --max-seconds too short) counts
as time spent, not as a verdict. Exit 1 when a candidate is judged wrong by either side.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from common import ROOT, VENV_PYTHON, add_program_option, evaluate, explain, half_width_percent, median, numbered_copies, private_home, spread

CANDIDATES = {
    "relu": "examples/relu/good.cpp",
    "softmax": "examples/softmax/good.cpp",
    "layer_norm": "bench/candidates/layer_norm.cpp",
    "matmul_square": "examples/matmul_square/good.cpp",
    "matmul_large": "examples/matmul_square/good.cpp",  # blocked, and right for every order
}
LARGE_REFERENCE_SECONDS = 0.05
LEAST_HALF_WIDTH = 1.05  # per cent: what one pair of processes cannot show is 1 % wide already
MEASURE_MATMUL = """
import time, torch
torch.set_num_threads(1)
a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
times = []
for _ in range(10):
    start = time.perf_counter()
    a @ b
    times.append(time.perf_counter() - start)
print(sorted(times)[5])
"""


def order_for_large_reference():
    seconds = float(subprocess.run([VENV_PYTHON, "-c", MEASURE_MATMUL], check=True, capture_output=True, text=True).stdout)
    return round(1024 * (LARGE_REFERENCE_SECONDS / seconds) ** (1 / 3) / 32) * 32


def make_large_matmul(folder, order):
    """problems/matmul_square with another order in its first, timed workload."""
    shutil.copytree(ROOT / "problems/matmul_square", folder)
    definition = json.loads((folder / "definition.json").read_text())
    definition["name"] = folder.name
    (folder / "definition.json").write_text(json.dumps(definition))
    lines = [json.loads(line) for line in (folder / "workloads.jsonl").read_text().splitlines()]
    lines[0]["workload"]["axes"]["N"] = order
    (folder / "workloads.jsonl").write_text("".join(json.dumps({**line, "definition": folder.name}) + "\n" for line in lines))
    return folder


class Series:
    """Of each verdict the seconds, the speedup (or None) and the half-width in per cent (or None); what went wrong."""

    def __init__(self):
        self.seconds, self.half_widths, self.speedups, self.failures = [], [], [], []

    def per_minute(self, skipped):
        with_interval = sum(width is not None for width in self.half_widths[skipped:])
        return 60 * with_interval / sum(self.seconds[skipped:])

    def without_interval(self):
        return sum(width is None for width in self.half_widths)

    def line(self, name, skipped):
        known = [[value for value in values if value is not None] for values in (self.speedups, self.half_widths)]
        return (f"  {name:18} {self.per_minute(skipped):8.1f} a minute   seconds a verdict {spread(self.seconds[skipped:])}"
                f"   speedup {spread(known[0])}   half-width % {spread(known[1], 1)}")


def run_ours(arguments, problem, candidates, environment, half_width):
    series, before = Series(), 0
    options = ["--max-seconds", str(arguments.max_seconds), "--jobs", str(arguments.jobs), "--half-width", f"{half_width:.3g}"]
    for arrival, verdict in evaluate(arguments.program, problem, candidates, options, environment):
        series.seconds.append(arrival - before)
        before = arrival
        if verdict["outcome"] not in ("passed", "noisy"):
            series.failures.append(explain(verdict))
        speedup = verdict["speedup"]
        series.speedups.append(speedup and speedup["median"])
        series.half_widths.append(speedup and half_width_percent(speedup["low"], speedup["high"]))
    return series


def run_peer(problem, candidates, header, builds, *options):
    series, reference_ms = Series(), []
    for candidate in candidates:
        command = [VENV_PYTHON, ROOT / "bench/peer_harness.py", problem, candidate, "--header", header, "--builds", builds]
        start = time.perf_counter()
        run = subprocess.run(command + list(options), capture_output=True, text=True)
        series.seconds.append(time.perf_counter() - start)
        if run.returncode != 0:
            sys.exit(f"{problem}: peer: {run.stderr.strip()}")
        result = json.loads(run.stdout)
        if not result["correct"]:
            series.failures.append(f"peer: {candidate.name} is not close to the reference")
        series.speedups.append(result["ratio"])
        series.half_widths.append(result["half_width_widened_percent"])
        reference_ms.append(result["reference_ms"])
    return series, median(reference_ms)


def measure(arguments, name, problem, scratch):
    candidates = numbered_copies(ROOT / CANDIDATES[name], scratch / f"{name}_candidates", max(arguments.candidates, arguments.peers))
    ours_candidates, peer_candidates = candidates[:arguments.candidates], candidates[:arguments.peers]
    home = scratch / f"{name}_home"
    builds = scratch / f"{name}_builds"
    builds.mkdir()
    header = builds / "problem.h"
    header.write_text(subprocess.run([arguments.program, "problems", "show", str(problem), "--signature"], check=True, capture_output=True, text=True).stdout)
    print(name, flush=True)
    failures = []
    for cached in (False, True):
        label = "cached" if cached else "not cached"
        peer, reference_ms = run_peer(problem, peer_candidates, header, builds, *["--cached"] * cached)
        half_width = arguments.half_width or max(LEAST_HALF_WIDTH, median(peer.half_widths))
        ours = run_ours(arguments, problem, ours_candidates, private_home(home), half_width)
        failures += ours.failures + peer.failures
        print(ours.line(f"ours, {label}", 1), f"  first verdict {ours.seconds[0]:.2f} s, with it {ours.per_minute(0):.1f} a minute"
              f"   without an interval: {ours.without_interval()}")
        print(peer.line(f"peer, {label}", 0), f"  reference {reference_ms:.1f} ms")
        print(f"  ratio, {label}: {ours.per_minute(1) / peer.per_minute(0):.2f} x the peer's rate", flush=True)
        if arguments.extensions and not cached:
            extension, _ = run_peer(problem, candidates[:arguments.extensions], header, builds, "--extension")
            print(extension.line("peer, load_inline", 0))
            print(f"  ratio, load_inline: {ours.per_minute(1) / extension.per_minute(0):.2f} x the peer's rate", flush=True)
    for failure in sorted(set(failures)):
        print(f"  FAILED {failure}")
    shutil.rmtree(home, ignore_errors=True)
    return not failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--candidates", type=int, default=10, help="of ours in a series; at least 2")
    parser.add_argument("--peers", type=int, default=10, help="peer processes in a series")
    parser.add_argument("--problems", nargs="+", default=list(CANDIDATES), choices=list(CANDIDATES))
    parser.add_argument("--extensions", type=int, default=0, help="peer processes that build through torch's load_inline")
    parser.add_argument("--large-order", type=int)
    parser.add_argument("--max-seconds", type=float, default=30)
    parser.add_argument("--half-width", type=float, help="per cent; without it, the peer's")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    arguments.candidates = max(2, arguments.candidates)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for name in arguments.problems:
            problem = ROOT / "problems" / name
            if name == "matmul_large":
                problem = make_large_matmul(scratch / name, arguments.large_order or order_for_large_reference())
            good = measure(arguments, name, problem, scratch) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
