#!/usr/bin/env python3
"""Kernels against torch on a GPU, a row each: time, speedup over torch eager and over the strongest form of the reference, share of the roofline,
memory of a call beside torch's, coverage.

    bench/gpu_table.py --solutions tests/honest/cuda [--only softmax,gelu] [--rivals compile,max-autotune] [--jobs 4] [--max-seconds 2]

Exit 1 when a candidate does not pass.
"""

import argparse
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

import common


def judged(options, solutions, out):
    command = [str(options.program), "eval", "--dataset", "problems", "--solutions", str(solutions), "--target", "cuda", "--out", str(out)]
    command += ["--max-seconds", str(options.max_seconds), "--jobs", str(options.jobs)]
    for rival in filter(None, options.rivals.split(",")):
        command += ["--rival", rival]
    subprocess.run(command, cwd=common.ROOT, stdout=sys.stderr, check=False)
    lines = map(json.loads, pathlib.Path(f"{out}.verdicts.jsonl").read_text().splitlines())
    return [line["verdict"] for line in lines if "verdict" in line]


def chosen(options, folder):
    """The folder of the solutions, or this one with copies of those that were asked for."""
    solutions = common.ROOT / options.solutions
    if not options.only:
        return solutions
    for name in options.only.split(","):
        for file in solutions.glob(name + ".*"):
            shutil.copy(file, folder)
    return folder


def interval(speedup):
    return f"{speedup['median']:.2f} ({speedup['low']:.2f} to {speedup['high']:.2f})" if speedup else "none"


def row(verdict):
    timed = next((workload for workload in verdict["workloads"] if workload["times"]), None)
    gpu = (timed or {}).get("gpu", {})
    roofline = gpu.get("roofline", {})
    strongest = verdict.get("strongest")
    cells = [verdict["problem"]["name"], verdict["candidate"]["language"], verdict["outcome"]]
    cells.append(f"{1e3 * timed['times']['candidate_ms']:.1f}" if timed else "")
    cells.append(interval(verdict["speedup"]))
    cells.append(f"{interval(strongest['speedup'])} over {strongest['baseline']}" if strongest else "")
    cells.append(f"{100 * roofline['share']:.0f} %, {roofline['limit']}" if "share" in roofline else "")
    sizes = [gpu.get("candidate_bytes"), gpu.get("baseline_bytes")]
    cells.append(" / ".join("?" if size is None else f"{size / 2**20:.1f}" for size in sizes))
    coverage = verdict["coverage"]
    cells.append(f"{100 * coverage['time']:.0f} %" if coverage else "")
    failures = [rival for workload in verdict["workloads"] for rival in workload.get("rivals", []) if "failure" in rival]
    cells.append("; ".join(sorted({f"{rival['baseline']}: {rival['failure'][:120]}" for rival in failures})))
    return cells


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_option(parser)
    parser.add_argument("--solutions", required=True)
    parser.add_argument("--only", default="", help="names of files without their suffix, with commas between")
    parser.add_argument("--rivals", default="compile,max-autotune")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--max-seconds", type=float, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        verdicts = judged(options, chosen(options, folder), folder / "out.jsonl")
    print("| problem | language | outcome | us | over eager | over the strongest | roofline | MiB a call, torch's | own kernels | rivals without a time |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for verdict in sorted(verdicts, key=lambda one: one["problem"]["name"]):
        print("| " + " | ".join(row(verdict)) + " |")
    speedups = [verdict["speedup"]["median"] for verdict in verdicts if verdict["speedup"]]
    strongest = [verdict["strongest"]["speedup"]["median"] for verdict in verdicts if verdict.get("strongest")]
    print(f"{len(speedups)} with a speedup, geometric mean {geometric_mean(speedups):.3f} over eager; "
          f"{len(strongest)} held against the strongest, {geometric_mean(strongest):.3f}")
    sys.exit(any(verdict["outcome"] != "passed" for verdict in verdicts))


if __name__ == "__main__":
    main()
