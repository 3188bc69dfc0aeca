#!/usr/bin/env python3
"""The writer on modules that others wrote: is there a correct kernel, and which operator is missing where there is none?

    bench/writer_trials.py ROWS.jsonl [--samples SAMPLES.jsonl] [--program build/dev/bin/kernelwright] [--attempts 4] [--first N] [--jobs 1]

Each of tests/writer/modules, and with --samples (rows with code, level, name, problem_id) each KernelBench problem at the sizes of
kernelbench_sample.py, goes through `kernelwright solve --no-timing` until a kernel is correct. ROWS gets a line for each trial, and what is in it
is not tried again. Prints a table in Markdown and a summary. Exit 1 where a trial neither has a correct kernel, nor names what is missing, nor is
quarantined as SETTINGS says.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from kernelbench_sample import SETTINGS

ROOT = pathlib.Path(__file__).resolve().parent.parent


def trials(samples):
    """(name, problem, flags, why it is quarantined or None)"""
    for path in sorted((ROOT / "tests" / "writer" / "modules").glob("*.py")):
        yield path.stem, str(path), [], None
    for row in map(json.loads, samples.read_text().splitlines()) if samples else ():
        settings, reason = SETTINGS[row["level"], row["problem_id"]]
        key = f"{row['level']}/{row['problem_id']}"
        yield f"{key} {row['name']}", f"{samples}#{key}", [part for setting in settings for part in ("--set", setting)], reason


def missing(reason):
    """Operators that the writer's message names."""
    return sorted(set(re.findall(r"\b\w+\.(?:default|[A-Z]\w*|\w+_\w+|dim|int|self|src|value)\b", reason)))


def tried(arguments, name, problem, flags, quarantined):
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.program, "solve", problem, "--proposer", "writer", "--no-timing", "--no-evidence", "--samples", str(arguments.attempts),
                   "--first-correct", "--run", folder + "/run", "--json", *flags]
        run = subprocess.run(command, capture_output=True, text=True)
        log = pathlib.Path(folder, "run", "events.jsonl")
        events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"problem"')]
    row = lines[0] if lines else {"best": None, "attempts": 0, "end": "error", "reason": run.stderr.strip()[-500:]}
    outcomes = [event["outcome"] for event in events if event["type"] == "judged"]
    outcome = "correct" if row["best"] else row["end"]
    lacks = missing(row["reason"]) if outcome in ("exhausted", "failed", "unsupported") else []
    good = outcome == "correct" or bool(lacks) or (outcome == "quarantined" and quarantined is not None)
    return {"name": name, "outcome": outcome, "good": good, "missing": lacks, "attempts": row["attempts"], "outcomes": outcomes, "reason": row["reason"],
            "seconds": round(time.monotonic() - begun, 1)}


def table(rows):
    print("| problem | outcome | attempts | operators missing |\n|---|---|---|---|")
    for row in rows:
        outcome = row["outcome"] + ("" if row["outcome"] == "correct" or row["missing"] else f": {row['reason'][:160]}")
        print(f"| {row['name']} | {outcome} | {', '.join(row['outcomes'])} | {' '.join(row['missing'])} |")
    counts = collections.Counter(row["outcome"] for row in rows)
    print(f"\n{len(rows)} trials: {', '.join(f'{count} {name}' for name, count in sorted(counts.items()))}; {sum(not row['good'] for row in rows)} not as expected")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--samples", type=pathlib.Path, help="KernelBench rows")
    parser.add_argument("--program", default=str(ROOT / "build/dev/bin/kernelwright"))
    parser.add_argument("--attempts", type=int, default=4)
    parser.add_argument("--first", type=int, help="only so many modules, and so many rows of --samples")
    parser.add_argument("--jobs", type=int, default=1, help="trials at once: nothing is timed")
    arguments = parser.parse_args()
    done = {row["name"]: row for row in map(json.loads, arguments.rows.read_text().splitlines())} if arguments.rows.exists() else {}
    wanted, begun = [], collections.Counter()
    for trial in trials(arguments.samples):
        kind = "/" in trial[0]
        begun[kind] += 1
        if not arguments.first or begun[kind] <= arguments.first:
            wanted.append(trial)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = [pool.submit(tried, arguments, *trial) for trial in wanted if trial[0] not in done]
        for one in concurrent.futures.as_completed(running):
            row = one.result()
            done[row["name"]] = row
            with arguments.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
    rows = [done[trial[0]] for trial in wanted]
    table(rows)
    sys.exit(any(not row["good"] for row in rows))


if __name__ == "__main__":
    main()
