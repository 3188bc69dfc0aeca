#!/usr/bin/env python3
"""How long `kernelwright solve --seconds N` takes: at most 1.5 times N, the admission of the problem and the model's loading
included, on a quiet machine and on one whose cores are taken.

    bench/solve_seconds.py [--seconds 40] [--problems relu softmax] [--proposers writer both] [--burners 0 2] [--model DIR]

Every run starts with empty caches. --proposers model and both need --model; a model of random weights will do (tests/lm/tiny_model.py
makes one), since its answers are extracted and compiled like any others. Exit 1 when a run takes more than 1.5 times its seconds.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from common import add_program_option, private_home

ALLOWED = 1.5


def burners(count):
    code = "import os\nos.sched_setaffinity(0, {%d})\nwhile os.getppid() != 1: pass"
    cores = sorted(os.sched_getaffinity(0))
    return [subprocess.Popen([sys.executable, "-c", code % cores[number % len(cores)]]) for number in range(count)]


def solve(arguments, problem, proposer, folder):
    command = [arguments.program, "solve", problem, "--proposer", proposer, "--seconds", str(arguments.seconds), "--run", str(folder / "run"), "--json"]
    if proposer in ("model", "both"):
        command += ["--model", str(arguments.model), "--max-tokens", "200"]
    start = time.monotonic()
    done = subprocess.run(command, env=private_home(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    taken = time.monotonic() - start
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if not lines:
        sys.exit(f"{problem}: {done.stderr[-2000:]}")
    return taken, lines[0]


def result_of(line):
    best = line.get("best")
    if not best:
        return "no correct kernel"
    speedup = best.get("speedup")
    return f"{speedup['median']:.2f}x ({speedup['low']:.2f} to {speedup['high']:.2f})" if speedup else "correct, not timed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--problems", nargs="+", default=["relu", "softmax"])
    parser.add_argument("--proposers", nargs="+", default=["writer"], choices=["writer", "model", "both"])
    parser.add_argument("--burners", nargs="+", type=int, default=[0, os.cpu_count()])
    parser.add_argument("--model", type=pathlib.Path)
    arguments = parser.parse_args()
    worst = 0.0
    print(f"load average {os.getloadavg()[0]:.1f}\n")
    print("| problem | proposer | burners | taken | of its seconds | attempts | end | best |\n|---|---|---|---|---|---|---|---|")
    for problem in arguments.problems:
        for proposer in arguments.proposers:
            for count in arguments.burners:
                taken_cores = burners(count)
                try:
                    with tempfile.TemporaryDirectory(prefix="kw-seconds-") as folder:
                        taken, line = solve(arguments, problem, proposer, pathlib.Path(folder))
                finally:
                    for process in taken_cores:
                        process.kill()
                        process.wait()
                worst = max(worst, taken / arguments.seconds)
                print(f"| {problem} | {proposer} | {count} | {taken:.1f} s | {taken / arguments.seconds:.2f} | {line.get('attempts', '-')} | {line.get('end', '-')} | {result_of(line)} |", flush=True)
    print(f"\nat most {worst:.2f} times, {ALLOWED} allowed")
    sys.exit(1 if worst > ALLOWED else 0)


if __name__ == "__main__":
    main()
