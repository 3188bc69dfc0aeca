#!/usr/bin/env python3
"""Honest candidates must pass: evaluations over all problems, languages and workload kinds, of which none may be rejected and no problem quarantined.

    bench/false_alarms.py [--evaluations 2000] [--jobs 1] [--problems problems] [--honest tests/honest] [--languages cpp triton python] [--out rows.jsonl]

Candidates of a problem: HONEST/cpp/NAME.cpp, HONEST/triton*/NAME.py and the reference itself (python). Each round judges all of them once on fresh secret
inputs, as candidates of their own (a comment differs), until there are enough evaluations. Correctness only. Prints every alarm with its message; exit 1
when there is one.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from aa import candidate_text, find_problems
from common import ROOT, add_program_option

MADE_TO_BE_QUARANTINED = ("constant_zero", "dropout")
COMMENT = {"cpp": "//", "triton": "#", "python": "#"}


def candidates_of(problem, honest, languages):
    """[(language, text, suffix)]"""
    found = []
    for language, suffix in (("cpp", ".cpp"), ("triton", ".py")):
        for file in sorted(honest.glob(f"{language}*/{problem.stem}{suffix}")) if language in languages else ():
            found.append((language, file.read_text(), suffix))
    if "python" in languages:
        found.append(("python", candidate_text(problem, 0), ".py"))
    return found


def judge(arguments, problem, files):
    command = [arguments.program, "eval", str(problem), *map(str, files), "--json", "--no-timing", "--no-evidence", "--jobs", str(arguments.jobs)]
    run = subprocess.run(command, capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--problems", type=pathlib.Path, default=ROOT / "problems")
    parser.add_argument("--honest", type=pathlib.Path, default=ROOT / "tests/honest")
    parser.add_argument("--languages", nargs="+", default=list(COMMENT), choices=list(COMMENT))
    parser.add_argument("--share", default="1/1", help="K/N: the K-th of N parts of the problems, for several runs side by side")
    parser.add_argument("--out", type=pathlib.Path, help="a line of JSON an evaluation")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.share.split("/"))
    problems = [problem for problem in find_problems(arguments.problems) if problem.stem not in MADE_TO_BE_QUARANTINED][part - 1::parts]
    candidates = {problem: candidates_of(problem, arguments.honest, arguments.languages) for problem in problems}
    in_a_round = sum(map(len, candidates.values()))
    rounds = -(-arguments.evaluations // max(1, in_a_round))
    counts, alarms, workloads, started = collections.Counter(), [], 0, time.time()
    out = arguments.out.open("w", buffering=1) if arguments.out else None
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems:
            files, languages = [], {}
            for number in range(rounds):
                for form, (language, text, suffix) in enumerate(candidates[problem]):
                    file = pathlib.Path(folder) / f"{problem.stem}_{language}_{form}_{number}{suffix}"
                    file.write_text(f"{text}\n{COMMENT[language]} candidate {number}\n")
                    files.append(file)
                    languages[file.stem] = language
            if not files:
                continue
            verdicts = judge(arguments, problem, files)
            for verdict in verdicts:
                # A pass so near its budget that it is not paid is an alarm too.
                borderline = any("borderline" in workload for workload in verdict.get("workloads", []))
                outcome = "borderline" if borderline else verdict.get("outcome", "error")
                language = languages.get(verdict.get("candidate", {}).get("name", ""), "?")
                counts[language, outcome] += 1
                workloads += len(verdict.get("workloads", []))
                if out:
                    out.write(json.dumps({"problem": problem.stem, "language": language, "outcome": outcome}) + "\n")
                if outcome != "passed":
                    words = [d["message"] for w in [verdict, *verdict.get("workloads", [])] for d in w.get("diagnostics", [])]
                    words.append(str(verdict.get("error", "")))
                    alarms.append(f"{problem.stem} ({language}): {outcome} {verdict.get('violation') or ''}: {' | '.join(words)[:600]}")
                    print("ALARM", alarms[-1], flush=True)
            if len(verdicts) < len(files):
                alarms.append(f"{problem.stem}: {len(verdicts)} verdicts for {len(files)} candidates")
                print("ALARM", alarms[-1], flush=True)
            for file in files:
                file.unlink()
    for language in COMMENT:
        line = {outcome: count for (name, outcome), count in counts.items() if name == language}
        print(f"{language:8} {sum(line.values()):6} evaluations: {line}")
    print(f"{sum(counts.values())} evaluations of {len(problems)} problems on {workloads} workloads in {time.time() - started:.0f} s: {len(alarms)} alarms")
    sys.exit(1 if alarms else 0)


if __name__ == "__main__":
    main()
