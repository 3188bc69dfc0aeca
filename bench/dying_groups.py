#!/usr/bin/env python3
"""Whether evaluations leave control groups in the kernel: their counts before, during and after one run of many evaluations.

    bench/dying_groups.py [--evaluations 1000] [--jobs 2]

One `kernelwright eval --dataset` judges honest programs and attacks in C++ and Python, correctness only, as soak.py does. A
group that was removed while the kernel still holds memory of it is "dying". What is counted: dying memory groups of the whole
machine (those of /proc/cgroups or of the root's cgroup.stat, less the folders that exist), dying groups of version 2, and the
folders of the run. Other programs' groups are among the first two. Exit 1 when a count is higher at the end than before by more than
one in 200 evaluations, or grew between the first and the last quarter of the run by more than the sandboxes that may be open
at a time.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from common import add_program_option, private_home
from soak import ATTACKS, LineCount, programs, solution

GROUPS = pathlib.Path("/sys/fs/cgroup")
OPEN_AT_A_TIME = 24  # jobs' executors, oracles and compilers, with the spares


def values_of(file):
    """Empty for a group that is gone."""
    try:
        return dict(line.split() for line in file.read_text().splitlines() if len(line.split()) == 2)
    except OSError:
        return {}


def folders_named(prefix):
    """Groups come and go while they are looked for."""
    found = []
    for place, names, _ in os.walk(GROUPS):
        found += [pathlib.Path(place) / name for name in names if name.startswith(prefix)]
        names[:] = [name for name in names if not name.startswith("kernelwright-")]
    return found


def sandboxes_in(folder):
    try:
        return [name for name in os.listdir(folder) if name.startswith("sandbox-")]
    except OSError:
        return []


def dying_memory_groups():
    """Groups that end while they are counted would be counted as dying: the least of several looks counts."""
    least = None
    for _ in range(5):
        kernel = {line.split()[0]: int(line.split()[2]) for line in pathlib.Path("/proc/cgroups").read_text().splitlines()[1:]}
        folders = sum(1 for _ in os.walk(GROUPS / "memory")) if (GROUPS / "memory").is_dir() else None
        if folders is None:
            return int(values_of(GROUPS / "cgroup.stat").get("nr_dying_subsys_memory", 0))
        dying = kernel.get("memory", 0) - folders
        least = dying if least is None else min(least, dying)
        time.sleep(0.02)
    return least


def counts(own_prefix):
    own = folders_named(own_prefix)
    version_2 = [values_of(root / "cgroup.stat") for root in (GROUPS, GROUPS / "unified")]
    return {
        "dying memory groups of the machine": dying_memory_groups(),
        "dying groups of version 2": sum(int(number) for one in version_2 for name, number in one.items() if name.startswith("nr_dying")),
        "folders of the run": sum(len(sandboxes_in(folder)) for folder in own),
    }


def write_solutions(path, number_of):
    honest, hostile = programs(True), programs(False)
    with path.open("w") as out:
        for number in range(number_of):
            pool = hostile if number % 10 == 0 else honest
            file, _ = pool[(number // 10 if number % 10 == 0 else number) % len(pool)]
            out.write(json.dumps(solution(file, number)) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kw-dying-") as place:
        scratch = pathlib.Path(place)
        write_solutions(scratch / "solutions.jsonl", arguments.evaluations)
        log = LineCount(scratch / "out.jsonl.verdicts.jsonl")
        command = [arguments.program, "eval", "--dataset", str(ATTACKS / "problem"), "--solutions", str(scratch / "solutions.jsonl"), "--out",
                   str(scratch / "out.jsonl"), "--no-timing", "--no-evidence", "--jobs", str(arguments.jobs)]
        before, seen, start = counts("none"), [], time.monotonic()
        with (scratch / "talk").open("w") as talk:
            process = subprocess.Popen(command, env=private_home(scratch), stdout=talk, stderr=talk)
            while process.poll() is None:
                time.sleep(1)
                seen.append((log.look(), counts(f"kernelwright-{process.pid}-")))
        if process.returncode not in (0, 1):
            sys.exit((scratch / "talk").read_text()[-2000:])
        evaluated = log.look()
    time.sleep(5)  # the kernel frees a group a grace period or two after its last reference is gone
    after = counts("none")
    bad = evaluated < arguments.evaluations
    print(f"{evaluated} evaluations in {time.monotonic() - start:.0f} s\n")
    print("| count | before | first quarter | last quarter | after |\n|---|---|---|---|---|")
    for name in before:
        quarters = [[count[name] for done, count in seen if low <= done / max(1, evaluated) <= high] for low, high in ((0.02, 0.27), (0.73, 0.98))]
        first, last = (statistics.median(quarter) if quarter else 0 for quarter in quarters)
        print(f"| {name} | {before[name]} | {first:.0f} | {last:.0f} | {after[name]} |")
        bad = bad or after[name] > before[name] + evaluated // 200 or last - first > OPEN_AT_A_TIME
    print("\nFAILED" if bad else "\npassed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
