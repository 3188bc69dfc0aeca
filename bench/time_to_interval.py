#!/usr/bin/env python3
"""How long until a speedup's interval is narrow enough, for every timed workload of the suite.

    bench/time_to_interval.py [--problems problems] [--only NAME...] [--max-seconds 30] [--program build/dev/bin/kernelwright]

The candidate is the good example of the problem where there is one, else the reference itself. Seconds are check_ms + time_ms of the workload in the
evidence: fresh inputs, calls, comparing, audits; not the build and the processes' start. At the end: workloads whose reference takes up to 10 ms and
that needed more than 5 s or did not reach 3 %, and problems that did not pass. Exit 1 when a candidate is judged wrong.
"""

import argparse
import pathlib
import sys
import tempfile

from aa import candidate_text, find_problems
from common import ROOT, add_program_option, evaluate, evidence_of, explain, half_width_percent, median, private_home, spread

FAST_REFERENCE_MS = 10
MOST_SECONDS = 5
WANTED_HALF_WIDTH = 3.0
NOT_THE_CANDIDATES_FAULT = ("noisy", "quarantined")


def candidate_for(problem, scratch):
    folder = ROOT / "examples" / ("modules" if problem.suffix == ".py" else "") / problem.stem
    good = [folder / name for name in ("good.cpp", "good.py") if (folder / name).exists()]
    if good:
        return good[0]
    own = scratch / f"{problem.stem}_reference.py"
    own.write_text(candidate_text(problem, 0))
    return own


def rows_of(verdict):
    """(seconds, reference ms, half-width in per cent or None, blocks) of each timed workload."""
    judged = {workload["uuid"]: workload for workload in verdict["workloads"]}
    for workload in evidence_of(verdict)["workloads"]:
        if workload["reference_ns"]:
            speedup = judged[workload["uuid"]]["speedup"]
            half_width = half_width_percent(speedup["low"], speedup["high"]) if speedup else None
            cost = workload["cost"]
            yield (cost["check_ms"] + cost["time_ms"]) / 1e3, median(workload["reference_ns"]) / 1e6, half_width, workload["blocks"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--problems", type=pathlib.Path, default=ROOT / "problems")
    parser.add_argument("--only", nargs="+", help="names of problems")
    parser.add_argument("--max-seconds", type=float, default=30)
    arguments = parser.parse_args()
    problems = [problem for problem in find_problems(arguments.problems) if not arguments.only or problem.stem in arguments.only]
    fast, late, others, wrong = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for problem in problems:
            candidate = candidate_for(problem, scratch)
            [(_, verdict)] = evaluate(arguments.program, problem, [candidate], ["--max-seconds", str(arguments.max_seconds)], private_home(scratch))
            if verdict["outcome"] != "passed":
                others.append(f"{problem.stem}: {explain(verdict)}")
                wrong += [problem.stem] * (verdict["outcome"] not in NOT_THE_CANDIDATES_FAULT)
                print(f"{problem.stem:24} {candidate.name:28} {verdict['outcome']}", flush=True)
                continue
            for seconds, reference_ms, half_width, blocks in rows_of(verdict):
                width = "none" if half_width is None else f"{half_width:.2f} %"
                line = f"{problem.stem:24} {candidate.name:28} {seconds:6.2f} s   reference {reference_ms:8.3f} ms   half-width {width:>8}   {blocks} blocks"
                print(line, flush=True)
                if reference_ms <= FAST_REFERENCE_MS:
                    fast.append(seconds)
                    if seconds > MOST_SECONDS or half_width is None or half_width > WANTED_HALF_WIDTH:
                        late.append(line)
    print(f"{len(fast)} timed workloads with a reference up to {FAST_REFERENCE_MS} ms: seconds {spread(fast)}; "
          f"{len(late)} of them needed more than {MOST_SECONDS} s or did not reach {WANTED_HALF_WIDTH:.0f} %")
    for line in late:
        print("  LATE  ", line)
    for line in others:
        print("  NO TIME", line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
