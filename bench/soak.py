#!/usr/bin/env python3
"""Soak: one run of many thousand evaluations, one in ten of them hostile. Nothing may be left over, and the last round of all
attacks is as fast as the first.

    bench/soak.py [--evaluations 20000] [--hostile 0.1] [--jobs 2] [--seconds 3600]

One `kernelwright eval --dataset` judges candidates for tests/attacks/problem, correctness only: honest programs and attacks from the corpus that end by
themselves. Every two seconds it counts verdicts, and of the run and its children: processes, descriptors, resident memory; at the end, when the run is
over, what is left of them against before: processes of sandbox users, cgroups, mounts, files in temporary folders. Exit 1 when something is left, memory of the
trusted processes or their descriptors grew by more than a tenth and 32 MiB or 16 descriptors, an outcome is not as expected, or the rate changed by more than 5 %: between the
first and the last round for the processor time that a virtual machine's host left, or by the clock between the medians of the first and the last third.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from common import ROOT, add_program_option, private_home

ATTACKS = ROOT / "tests/attacks"
# They take seconds by nature (hangs that end by timeout, bombs), or need a partner: a soak is about the number.
SLOW = re.compile(r"hang|fork_bomb|memory|daemon|flood|sleep|interleav|huge|template|message|slow_flags")
LANGUAGE = {".cpp": "cpp", ".py": "python"}


def tag(text, name):
    found = re.search(rf"^[/#]+ {name}: (.*)$", text, re.M)
    return found[1].strip() if found else ""


def programs(expect_pass):
    """[(path, expected outcomes)] of the corpus for tests/attacks/problem."""
    found = []
    for path in sorted(ATTACKS.rglob("*")):
        if path.suffix not in LANGUAGE or SLOW.search(path.name) or "problem" in path.parent.name:
            continue
        text = path.read_text()
        expected = [word.split()[0] for word in tag(text, "expect").split("|") if word]
        if re.match(r"C|W1[4-6]", tag(text, "class")) or re.search(r"Right for \d+ calls", text):
            expected.append("passed")  # what such a program remembers is of no use in three calls, and W14 is wrong on inputs that only timed calls have
        if not expected or tag(text, "problem") or "@SECRET@" in text or "triton" in text:
            continue
        if (expected == ["passed"]) == expect_pass:
            found.append((path, expected))
    return found


def solution(path, number):
    spec = {"language": LANGUAGE[path.suffix], "entry_point": f"{path.name}::run", "target_hardware": ["cpu"], "dependencies": []}
    if path.suffix == ".py":
        spec["destination_passing_style"] = "def run(x, y)" in path.read_text()
    return {"name": f"{path.stem}_{number}", "definition": "attack_target", "author": "soak", "description": "", "spec": spec,
            "sources": [{"path": path.name, "content": path.read_text()}]}


def descendants(pid):
    children = collections.defaultdict(list)
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children[int(fields[1])].append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += children[one]
    return found


def resident_mib(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, IndexError):
        return 0.0


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def trusted(pid, family):
    """Of the run's family: itself, its launchers and zygotes, everything that lives as long as it does. Checkers come and go with problems."""
    own = [pid]
    for one in family[1:]:
        try:
            parent = int(pathlib.Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and "checker" not in pathlib.Path(f"/proc/{one}/comm").read_text():
                own.append(one)
        except OSError:
            continue
    return own


class LineCount:
    """Lines of a growing file: every look reads what came since the one before, so that the last costs what the first did."""

    def __init__(self, path):
        self.path, self.offset, self.lines = path, 0, 0

    def look(self):
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self.offset)
                more = file.read()
            self.offset += len(more)
            self.lines += more.count(b"\n")
        return self.lines


def stolen_seconds():
    """Processor time that the machine's host gave to others, of all cores since it started."""
    return int(pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]) / os.sysconf("SC_CLK_TCK")


def time_of(places, verdicts):
    """When there were so many verdicts, between two looks."""
    before = (0.0, 0)
    for place in places:
        if place[1] >= verdicts:
            share = (verdicts - before[1]) / max(1, place[1] - before[1])
            return before[0] + share * (place[0] - before[0])
        before = place
    return before[0]


def numbers(values, digits=0):
    return " ".join(f"{value:.{digits}f}" for value in values)


def stolen_at(places, seconds):
    return min(places, key=lambda place: abs(place[0] - seconds))[5]


def left_over(pid):
    """Counts of what a run makes and must take away."""
    users = set(range(60000, 66000))
    processes = 0
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            processes += entry.stat().st_uid in users
        except OSError:
            pass
    groups = sum(1 for _ in pathlib.Path("/sys/fs/cgroup").rglob(f"kernelwright-{pid}-*"))
    mounts = pathlib.Path("/proc/self/mounts").read_text().count("kernelwright")
    files = sum(1 for folder in ("/tmp", "/dev/shm", "/run/kernelwright") if os.path.isdir(folder) for name in os.listdir(folder) if name.startswith(("kw-", "kernelwright")))
    return {"processes": processes, "cgroups": groups, "mounts": mounts, "files": files}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--evaluations", type=int, default=20000)
    parser.add_argument("--hostile", type=float, default=0.1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5400, help="the run is stopped then")
    arguments = parser.parse_args()
    honest, hostile = programs(True), programs(False)
    print(f"{len(honest)} honest programs, {len(hostile)} hostile ones")
    before = left_over(0)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        expected = {}
        period = round(1 / arguments.hostile)
        with (scratch / "solutions.jsonl").open("w") as out:
            for number in range(arguments.evaluations):
                pool, place = (hostile, number // period) if number % period == 0 else (honest, number)
                path, outcomes = pool[place % len(pool)]
                expected[f"{path.stem}_{number}"] = outcomes
                out.write(json.dumps(solution(path, number)) + "\n")
        log = scratch / "out.jsonl.verdicts.jsonl"
        command = [arguments.program, "eval", "--dataset", str(ATTACKS / "problem"), "--solutions", str(scratch / "solutions.jsonl"), "--out", str(scratch / "out.jsonl"),
                   "--no-timing", "--no-evidence", "--jobs", str(arguments.jobs)]
        with (scratch / "talk").open("w") as talk:
            process = subprocess.Popen(command, env=private_home(scratch), stdout=talk, stderr=talk)
        start, places, done, stolen = time.time(), [], LineCount(log), stolen_seconds()
        while process.poll() is None and time.time() - start < arguments.seconds:
            time.sleep(2)
            family = descendants(process.pid)
            own = trusted(process.pid, family)
            places.append((time.time() - start, done.look(), sum(map(resident_mib, own)), sum(map(descriptors, own)), len(family), stolen_seconds() - stolen))
            if len(places) % 60 == 1:
                print("{:7.0f} s  {:6} verdicts  {:7.1f} MiB  {:4} descriptors  {:3} processes  {:6.1f} s stolen".format(*places[-1]), flush=True)
        if process.poll() is None:
            process.terminate()
        process.wait(60)
        verdicts = [json.loads(line)["verdict"] for line in log.read_text().splitlines()]
    time.sleep(2)
    after = left_over(process.pid)
    wrong = collections.Counter(
        f"{re.sub(r'_[0-9]+$', '', v['candidate']['name'])}: {v['outcome']}" for v in verdicts if v["outcome"] not in expected[v["candidate"]["name"]])
    hostile_count = sum(expected[v["candidate"]["name"]] != ["passed"] for v in verdicts)
    print(f"{len(verdicts)} verdicts in {places[-1][0]:.0f} s, {hostile_count} of them hostile; not as expected: {dict(wrong)}")

    # Attacks differ in how long they take: rates are of whole rounds of all of them. The first round fills the build cache.
    rounds = period * len(hostile)
    count = len(verdicts) // rounds
    if count < 3:
        sys.exit(f"{len(verdicts)} verdicts are fewer than three rounds of {rounds}")
    ends = [time_of(places, rounds * number) for number in range(1, count + 1)]
    rates = [60 * rounds / (after_it - before_it) for before_it, after_it in zip(ends, ends[1:])]
    steady = [place for place in places if place[0] > ends[0]]
    # Both go up and down with the number of problems that are open: medians of the first and the last third.
    third = max(2, len(steady) // 3)
    memory = [statistics.median(p[2] for p in part) for part in (steady[:third], steady[-third:])]
    handles = [statistics.median(p[3] for p in part) for part in (steady[:third], steady[-third:])]
    # What the host took is no sign of the system's: the change is that of the verdicts for the processor time that was there.
    shares = [(stolen_at(places, after_it) - stolen_at(places, before_it)) / (after_it - before_it) / os.cpu_count() for before_it, after_it in zip(ends, ends[1:])]
    given = [rate / (1 - share) for rate, share in zip(rates, shares)]
    change = given[-1] / given[0] - 1
    part = max(1, len(rates) // 3)
    by_clock = statistics.median(rates[-part:]) / statistics.median(rates[:part]) - 1
    print(f"verdicts a minute, by rounds of {rounds}: {numbers(rates)} (last against first {100 * (rates[-1] / rates[0] - 1):+.1f} %)")
    print(f"of the processors the host took: {numbers((100 * share for share in shares), 1)} %")
    print(f"verdicts a minute of the processors that were left: {numbers(given)} (last against first {100 * change:+.1f} %)")
    print(f"by the clock, medians of the last and the first third: {100 * by_clock:+.1f} %")
    print(f"trusted processes: {memory[0]:.0f} MiB, then {memory[1]:.0f} MiB; descriptors {handles[0]:.0f}, then {handles[1]:.0f}")
    print(f"left over: before {before}, after {after}")
    grown = {name: after[name] - before[name] for name in after if after[name] > before[name]}
    bad = bool(grown or wrong or abs(change) > 0.05 or abs(by_clock) > 0.05 or memory[1] > 1.1 * memory[0] + 32 or handles[1] > 1.1 * handles[0] + 16)
    print("FAILED" if bad else "passed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
