#!/usr/bin/env python3
"""The main job over the suite: what `kernelwright solve` finds without a model, over torch eager and, with --rival, over torch.compile.

    bench/solve_suite.py [--problems problems] [--samples 1] [--seconds 60] [--rival] [--run FOLDER] [--rows rows.jsonl] [--at-once 1] [--until SECONDS] [NAME ...]

One problem after the other, so that nothing runs beside what is timed: `solve PROBLEM --proposer writer`; with --rival the best kernel is then judged again with
torch.compile as baseline (same gym, same workloads). On a larger machine --at-once N judges N problems beside each other, each on two cores that no other has and with a timing
lock of its own (root only). Problems whose row is in --rows already are passed over. Prints a Markdown row a problem, then the shares:
solved (a correct kernel), faster (the speedup's lower end above 1), and the seconds of wall clock that a problem took.
"""

import argparse
import concurrent.futures
import json
import pathlib
import queue
import statistics
import subprocess
import tempfile
import time

from aa import find_problems
from common import ROOT, add_program_option

NOT_PROBLEMS = ("constant_zero",)  # in the suite to be quarantined


# Two cores of its own, and timing locks: other problems' are not waited for. What else lies in the folder (which uids are taken) stays everybody's.
ALONE = """
cores=$0 folder=/run/kernelwright own=/run/kernelwright/own
mkdir -p $own && mount -t tmpfs tmpfs $own || exit
for file in timing.lock timing.queue; do
  touch $folder/$file $own/$file && mount --bind $own/$file $folder/$file || exit
done
exec taskset -c $cores "$@"
"""


def ran(command, slot):
    """The first line of a command's output as JSON; what it complained of where there is none. slot: which two cores, None: all."""
    if slot is not None:
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ALONE, f"{2 * slot},{2 * slot + 1}", *command]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return json.loads(lines[0]) if lines else {"error": {"message": done.stderr.strip()[-300:]}}


def solve(arguments, problem, run, slot):
    command = [arguments.program, "solve", str(problem), "--proposer", "writer", "--json", "--run", str(run), "--jobs", "1", "--parallel", "1",
               "--samples", str(arguments.samples), "--seconds", str(arguments.seconds), "--max-seconds", str(arguments.max_seconds)]
    started = time.perf_counter()
    row = ran(command, slot)
    return {"name": problem.stem, "wall": time.perf_counter() - started, **row}


def over_compile(arguments, problem, kernel, slot):
    """The verdict of the solution beside the kernel's file with torch.compile as baseline; a dict with "error" where there is none."""
    solution = pathlib.Path(kernel).with_name("solution.json")
    command = [arguments.program, "eval", str(problem), str(solution), "--baseline", "compile", "--json", "--no-evidence", "--max-seconds", str(arguments.max_seconds)]
    return ran(command, slot)


def measure(arguments, problem, run, slots, end):
    slot = slots.get()
    try:
        if time.monotonic() >= end:
            return None
        row = solve(arguments, problem, run, slot)
        best = row.get("best")
        if best and arguments.rival:
            row["rival"] = over_compile(arguments, problem, best["source"], slot)
        return row
    finally:
        slots.put(slot)


def interval(speedup):
    return f"{speedup['median']:.2f} [{speedup['low']:.2f}, {speedup['high']:.2f}]" if speedup else ""


def line_of(row):
    best = row.get("best") or {}
    rival = row.get("rival") or {}
    what = best.get("outcome") or "not solved"
    return f"| {row['name']} | {what} | {interval(best.get('speedup'))} | {interval(rival.get('speedup'))} | {row['wall']:.0f} |"


def share(part, whole):
    return f"{part} of {whole} ({100 * part / max(1, whole):.1f} %)"


def print_summary(rows):
    speedups = [row["best"]["speedup"] for row in rows if row.get("best") and row["best"].get("speedup")]
    rivals = [row["rival"]["speedup"] for row in rows if (row.get("rival") or {}).get("speedup")]
    print(f"\nsolved {share(sum(1 for row in rows if row.get('best')), len(rows))}; timed {len(speedups)}")
    print(f"faster than eager {share(sum(s['low'] > 1 for s in speedups), len(rows))}; slower {share(sum(s['high'] < 1 for s in speedups), len(rows))}")
    if speedups:
        print(f"speedup over eager: geometric mean {statistics.geometric_mean(s['median'] for s in speedups):.2f}, median {statistics.median(s['median'] for s in speedups):.2f}")
    if any(row.get("rival") for row in rows):
        print(f"timed beside torch.compile {share(len(rivals), len(rows))}")
    if rivals:
        print(f"faster than torch.compile {share(sum(s['low'] > 1 for s in rivals), len(rivals))}; slower {share(sum(s['high'] < 1 for s in rivals), len(rivals))}")
        print(f"speedup over torch.compile: geometric mean {statistics.geometric_mean(s['median'] for s in rivals):.2f}, median {statistics.median(s['median'] for s in rivals):.2f}")
    walls = sorted(row["wall"] for row in rows)
    print(f"seconds a problem: median {statistics.median(walls):.0f}, most {walls[-1]:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--problems", type=pathlib.Path, default=ROOT / "problems")
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="budget of a problem")
    parser.add_argument("--max-seconds", type=float, default=10, help="of timing one workload")
    parser.add_argument("--rival", action="store_true")
    parser.add_argument("--run", type=pathlib.Path, help="folder of the run folders; without it a temporary one")
    parser.add_argument("--rows", type=pathlib.Path, help="a line of JSON a problem, appended")
    parser.add_argument("--at-once", type=int, default=1, help="problems, each on two cores")
    parser.add_argument("--until", type=float, default=1e9, help="seconds after which no further problem begins")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    problems = [p for p in find_problems(arguments.problems) if p.stem not in NOT_PROBLEMS and (not arguments.names or p.stem in arguments.names)]
    rows = []
    if arguments.rows and arguments.rows.exists():
        rows = [json.loads(line) for line in arguments.rows.read_text().splitlines()]
    known = {row["name"] for row in rows}
    print("| problem | outcome | over eager | over torch.compile | s |\n|---|---|---|---|---|")
    for row in rows:
        print(line_of(row))
    slots = queue.SimpleQueue()
    for slot in range(arguments.at_once) if arguments.at_once > 1 else [None]:
        slots.put(slot)
    end = time.monotonic() + arguments.until
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(arguments.at_once) as pool:
        folder = arguments.run or pathlib.Path(temporary)
        begun = [pool.submit(measure, arguments, p, folder / p.stem, slots, end) for p in problems if p.stem not in known]
        for done in concurrent.futures.as_completed(begun):
            if (row := done.result()) is None:
                continue
            rows.append(row)
            print(line_of(row), flush=True)
            if arguments.rows:
                with open(arguments.rows, "a") as file:
                    file.write(json.dumps(row) + "\n")
    print_summary(rows)


if __name__ == "__main__":
    main()
