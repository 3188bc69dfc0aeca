#!/usr/bin/env python3
"""Right kernels on a busy machine: one process on every core burns it. All of them should get a speedup, and the intervals should cover what a
quiet machine says.

    bench/busy_machine.py kernels [--count 20] [--problems NAME ...] [--quiet FILE] [--max-seconds 30] [--limit 60]
    bench/busy_machine.py aa [--intervals 200] [--problems NAME ...] [--max-seconds 10]

kernels: the suite's own C++ kernels (tests/honest/cpp), first without and then with the burners. --quiet keeps the quiet machine's speedups in a file,
which is read where it exists. Exit 1 when a kernel has no speedup, when one took longer than --limit seconds, or when more than a tenth of the
intervals does not cover the quiet median.
aa: references as their own candidates, under load; the intervals should cover 1.0 as often as they say. Exit 1 when the misses cannot be chance.

The burners are children of this program. They end with it, and at the latest after their own limit of core time.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from aa import REJECT_BELOW, STATED_MISS_RATE, candidate_text, tail_probability
from common import ROOT, add_program_option, evaluate, explain, half_width_percent, median, private_home

BURNER_SECONDS = 4 * 3600  # of core time
BURN = "while True: pass"


@contextlib.contextmanager
def burners():
    """One on every core of this process, pinned to it."""

    def pin(core):
        os.sched_setaffinity(0, [core])
        resource.setrlimit(resource.RLIMIT_CPU, (BURNER_SECONDS, BURNER_SECONDS))

    cores = sorted(os.sched_getaffinity(0))
    processes = [subprocess.Popen([sys.executable, "-c", BURN], preexec_fn=lambda core=core: pin(core)) for core in cores]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def chosen(names, count):
    """Problems with a C++ kernel of ours: those that are named, or so many, spread over the suite."""
    kernels = sorted((ROOT / "tests/honest/cpp").glob("*.cpp"))
    if names:
        return [kernel for kernel in kernels if kernel.stem in names]
    return [kernels[i * len(kernels) // count] for i in range(min(count, len(kernels)))]


def problem_of(name):
    folder = ROOT / "problems" / name
    return folder if folder.exists() else ROOT / "problems/modules" / f"{name}.py"


def judge(arguments, name, files, home):
    """[(seconds, verdict)], each from the end of the one before."""
    options = ["--no-evidence", "--max-seconds", str(arguments.max_seconds)]
    verdicts = evaluate(arguments.program, problem_of(name), files, options, private_home(home))
    starts = [0, *(at for at, _ in verdicts)]
    return [(at - start, verdict) for start, (at, verdict) in zip(starts, verdicts)]


def quiet_medians(arguments, kernels, home):
    known = json.loads(arguments.quiet.read_text()) if arguments.quiet and arguments.quiet.exists() else {}
    for kernel in kernels:
        if kernel.stem in known:
            continue
        [(_, verdict)] = judge(arguments, kernel.stem, [kernel], home)
        if not verdict["speedup"] or verdict["clock"] != "wall":
            print(f"{kernel.stem}: not quiet: {explain(verdict)}, clock {verdict['clock']}", flush=True)
        known[kernel.stem] = verdict["speedup"]["median"] if verdict["speedup"] else None
        if arguments.quiet:
            arguments.quiet.write_text(json.dumps(known, indent=1))
    return known


def measure_kernels(arguments, home):
    kernels = chosen(arguments.problems, arguments.count)
    quiet = quiet_medians(arguments, kernels, home)
    covered, untimed, late, seconds, clocks = [], [], [], [], []
    with burners():
        for kernel in kernels:
            [(took, verdict)] = judge(arguments, kernel.stem, [kernel], home / "busy")
            seconds.append(took)
            if took > arguments.limit:
                late.append(kernel.stem)
            speedup, truth = verdict["speedup"], quiet[kernel.stem]
            if not speedup:
                untimed.append(kernel.stem)
                print(f"{kernel.stem:28} {took:5.1f} s  {explain(verdict)}", flush=True)
                continue
            clocks.append(verdict["clock"])
            covers = truth is not None and speedup["low"] <= truth <= speedup["high"]
            covered.append(covers)
            print(f"{kernel.stem:28} {took:5.1f} s  {verdict['clock']:9} {speedup['median']:.3f} ({speedup['low']:.3f} to {speedup['high']:.3f})"
                  f"  quiet {truth if truth is None else round(truth, 3)}{'' if covers else '  NOT COVERED'}", flush=True)
    print(f"{len(covered)} of {len(kernels)} with a speedup, {clocks.count('processor')} by processor time, {sum(covered)} cover the quiet median; "
          f"seconds: median {median(seconds):.1f}, most {max(seconds):.1f}; without {untimed}; later than {arguments.limit:.0f} s {late}")
    return not untimed and not late and sum(covered) >= math.ceil(0.9 * len(kernels))


def measure_aa(arguments, home):
    names = [kernel.stem for kernel in chosen(arguments.problems, 20)]
    repeats = math.ceil(arguments.intervals / len(names))
    intervals, untimed, clocks = [], [], []
    with burners():
        for name in names:
            files = []
            for number in range(repeats):
                files.append(home / f"{name}_{number}.py")
                files[-1].write_text(candidate_text(problem_of(name), number))
            line = []
            for _, verdict in judge(arguments, name, files, home):
                speedup = verdict["speedup"]
                if not speedup:
                    untimed.append(f"{name}: {explain(verdict)}")
                    continue
                clocks.append(verdict["clock"])
                intervals.append((speedup["low"], speedup["high"]))
                line.append(f"{speedup['median']:.3f} ±{half_width_percent(speedup['low'], speedup['high']):.1f}%"
                            f"{'' if speedup['low'] <= 1 <= speedup['high'] else '!'}")
            print(f"{name:28}", "  ".join(line), flush=True)
    misses = sum(not low <= 1 <= high for low, high in intervals)
    chance = tail_probability(misses, len(intervals), STATED_MISS_RATE)
    print(f"{len(intervals)} intervals, {clocks.count('processor')} by processor time, {misses} do not cover 1.0; binomial test against 5 %: p = {chance:.3g}; "
          f"half-width median {median([half_width_percent(*one) for one in intervals]):.2f} %; without a time: {untimed}")
    return chance >= REJECT_BELOW


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kernels", "aa"])
    add_program_option(parser)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--intervals", type=int, default=200)
    parser.add_argument("--problems", nargs="+", default=[])
    parser.add_argument("--quiet", type=pathlib.Path)
    parser.add_argument("--max-seconds", type=float)
    parser.add_argument("--limit", type=float, default=60)
    arguments = parser.parse_args()
    arguments.max_seconds = arguments.max_seconds or (30 if arguments.what == "kernels" else 10)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        fine = (measure_kernels if arguments.what == "kernels" else measure_aa)(arguments, pathlib.Path(folder))
    print(f"{time.monotonic() - begun:.0f} s")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
