#!/usr/bin/env python3
"""kernelwright solve with a local model of random weights: nothing that it writes is a kernel, and the run says so and ends cleanly.

usage: solve_test.py PROGRAM PROBE      (build/dev/bin/kernelwright, build/dev/bin/kw_lm_probe)
exit: 0 all as expected; 1 not
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402
from tiny_model import make_model

PROBLEM = pathlib.Path(__file__).parents[2] / "problems" / "relu"
def solve(program, *words):
    return subprocess.run([str(program), "solve", *map(str, words)], capture_output=True, text=True, timeout=120)


def events(run):
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


def case_random_weights(program, model, folder):
    run = folder / "random"
    ended = solve(program, PROBLEM, "--model", model, "--samples", 6, "--max-tokens", 40, "--run", run, "--json")
    expect(ended.returncode == 1, f"exit code {ended.returncode}: {ended.stderr}")
    row = json.loads(ended.stdout)
    expect(row["best"] is None and row["attempts"] == 6 and row["correct"] == 0, f"the row: {row}")
    expect(row["tokens"] > 6 * 40, f"tokens: {row['tokens']}")
    reasons = [event["why_not"] for event in events(run) if event["type"] == "extracted"]
    expect(len(reasons) == 6 and all(reasons), f"no reasons: {reasons}")
    finishes = {event["finish"] for event in events(run) if event["type"] == "answered"}
    expect(finishes <= {"stop", "length"} and "length" in finishes, f"finishes: {finishes}")
    # The same seed gives the same answers.
    again = folder / "again"
    solve(program, PROBLEM, "--model", model, "--samples", 6, "--max-tokens", 40, "--run", again)
    answers = [sorted((e["attempt"], e["answer"]) for e in events(r) if e["type"] == "answered") for r in (run, again)]
    expect(answers[0] == answers[1], "another run has other answers")


def case_a_prompt_without_room(program, model, folder):
    run = folder / "room"
    ended = solve(program, PROBLEM, "--model", model, "--samples", 2, "--context", 64, "--run", run, "--json")
    expect(ended.returncode == 1, f"exit code {ended.returncode}: {ended.stderr}")
    finishes = [event["finish"] for event in events(run) if event["type"] == "answered"]
    expect(finishes == ["context", "context"], f"finishes: {finishes}")


def case_a_model_that_is_none(program, _model, folder):
    (folder / "none").mkdir()
    (folder / "none" / "config.json").write_text("{}")
    ended = solve(program, PROBLEM, "--model", folder / "none", "--run", folder / "unused")
    expect(ended.returncode == 2 and "config.json" in ended.stderr, f"{ended.returncode}: {ended.stderr}")
    expect(not (folder / "unused").exists(), "a run has begun")


def main():
    program, probe = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = make_model(probe, folder / "tiny", context=8192)
        for case, function in list(globals().items()):
            if case.startswith("case_"):
                function(program, model, folder)
    print(f"{expectations.failures} differences")
    sys.exit(expectations.exit_code())


if __name__ == "__main__":
    main()
