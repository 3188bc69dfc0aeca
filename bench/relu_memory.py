#!/usr/bin/env python3
"""A kernel bound by memory must not look faster than torch: a plain C++ relu over 64 MB, which moves the same bytes as torch's.

    bench/relu_memory.py [--runs 3] [--candidate FILE] [--max-seconds 30] [--program build/dev/bin/kernelwright]

An advantage would come from the gym: page faults that only one side pays, caches that only one side finds warm. Exit 1 when the median of the
speedups is above 1.15, when a run does not pass, or when none has an interval.
"""

import argparse
import pathlib
import sys
import tempfile

from common import ROOT, add_program_option, evaluate, evidence_of, explain, half_width_percent, median, numbered_copies, private_home

MOST = 1.15


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--candidate", type=pathlib.Path, default=ROOT / "bench/candidates/relu.cpp")
    parser.add_argument("--max-seconds", type=float, default=30)
    arguments = parser.parse_args()
    speedups, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        candidates = numbered_copies(arguments.candidate, scratch / "candidates", arguments.runs)
        options = ["--max-seconds", str(arguments.max_seconds)]
        for _, verdict in evaluate(arguments.program, ROOT / "problems/relu_large", candidates, options, private_home(scratch)):
            timed = [workload for workload in evidence_of(verdict)["workloads"] if workload["candidate_ns"]]
            line = explain(verdict)
            failed = failed or verdict["outcome"] != "passed"
            if speedup := verdict["speedup"]:
                speedups.append(speedup["median"])
                line += f"   {speedup['median']:.3f}x ({speedup['low']:.3f} to {speedup['high']:.3f}), half-width {half_width_percent(speedup['low'], speedup['high']):.1f} %"
            for workload in timed:
                line += (f"   candidate {median(workload['candidate_ns']) / 1e6:.2f} ms, torch {median(workload['reference_ns']) / 1e6:.2f} ms"
                         f"   page faults {workload['candidate_page_faults']} and {workload['reference_page_faults']} in {workload['blocks']} blocks,"
                         f" {workload['disturbed_samples']} dropped")
            print(line, flush=True)
    if not speedups:
        sys.exit("FAILED no interval")
    print(f"median speedup {median(speedups):.3f} ({min(speedups):.3f}..{max(speedups):.3f}), at most {MOST} wanted")
    sys.exit(1 if failed or median(speedups) > MOST else 0)


if __name__ == "__main__":
    main()
