#!/usr/bin/env python3
"""kernelwright solve with a local model of random weights: nothing that it writes is a kernel, and the run says so and ends cleanly.

usage: solve_test.py PROGRAM PROBE      (build/dev/bin/kernelwright, build/dev/bin/kw_lm_probe)
exit: 0 all as expected; 1 not
"""

import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expectations  # noqa: E402
from expectations import PATIENCE, expect  # noqa: E402
from tiny_model import make_model

PROBLEM = pathlib.Path(__file__).parents[2] / "problems" / "relu"


def solve(program, *words):
    return subprocess.run([str(program), "solve", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE)


def events(run):
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


def whole_events(run):
    """Of a run that goes on: without a line that is being written."""
    return [json.loads(line) for line in (run / "events.jsonl").read_text().split("\n")[:-1]]


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
    # The report says why nothing is correct.
    report = subprocess.run([str(program), "report", str(run), "--json"], capture_output=True, text=True, timeout=PATIENCE)
    expect(report.returncode == 0, f"the report: {report.stderr}")
    found = json.loads(report.stdout)["runs"][0]["metrics"]
    expect(found["correctness"]["value"] == 0 and found["attempts"]["total"] == 6, f"the report: {found}")
    told = {failure["reason"]: failure["count"] for failure in found["failures"]}
    expect(sum(told.values()) == 6 and all(any(why in reason for reason in told) for why in set(reasons)), f"the report's reasons: {told}, not {reasons}")
    text = subprocess.run([str(program), "report", str(run)], capture_output=True, text=True, timeout=PATIENCE).stdout
    expect(all(reason in text for reason in told), f"the report's text: {text}")


def engine_of(process):
    """The pid of kernelwright-lm, a child of this process; None while there is none."""
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = status.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if int(rest.split()[1]) == process.pid and name.startswith("kernelwright-l"):
            return int(status.parent.name)
    return None


def case_an_engine_that_dies_is_started_again(program, model, folder):
    """It is killed once an attempt, until one lost its answer by that: the kill may come while nothing is asked of it."""
    run, samples = folder / "killed", 20
    words = ("--model", model, "--samples", samples, "--parallel", 1, "--max-tokens", 400, "--no-timing", "--retry-seconds", 0.1, "--run", run, "--json")
    process = subprocess.Popen([str(program), "solve", str(PROBLEM), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    kills, ended, end = 0, 0, time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        types = [event["type"] for event in whole_events(run)] if (run / "events.jsonl").exists() else []
        if "failed" in types:
            break
        engine = engine_of(process) if types.count("decided") > ended else None
        if engine is not None:
            ended = types.count("decided")
            os.kill(engine, signal.SIGKILL)
            kills += 1
        time.sleep(0.005)
    expect(kills > 0, "no engine to kill")
    out, err = process.communicate(timeout=PATIENCE)
    expect(process.returncode == 1, f"exit code {process.returncode}: {err}")
    row = json.loads(out)
    expect(row["attempts"] == samples and row["end"] == "attempts", f"the row: {row}")
    failed = [event for event in events(run) if event["type"] == "failed"]
    expect(failed and all(event["stage"] == "propose" and event["again"] for event in failed), f"failures after {kills} kills: {failed}")


def case_kernels_are_timed_while_the_engine_writes(program, model, folder):
    """Every other attempt is the writer's, which is right."""
    run = folder / "both"
    ended = solve(program, PROBLEM, "--model", model, "--proposer", "both", "--samples", 2, "--tries", 1, "--max-tokens", 40, "--max-seconds", 5, "--half-width", 20, "--run", run, "--json")
    expect(ended.returncode == 0, f"exit code {ended.returncode}: {ended.stderr}")
    by = [event["by"] for event in events(run) if event["type"] == "answered"]
    expect(sorted(by) == ["tiny", "writer"], f"by: {by}")
    judged = [event for event in events(run) if event["type"] == "judged"]
    expect(len(judged) == 1 and judged[0]["outcome"] in ("passed", "noisy"), f"judged: {judged}")
    # A machine that is too busy gives no time in the end.
    verdict = json.loads((run / "blobs" / judged[0]["verdict"][:2] / judged[0]["verdict"]).read_text())
    expect(verdict["cost"]["time_ms"] > 0, f"not timed: {verdict['cost']}")


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


def timing_lock():
    """The lock's file, as the gym finds it."""
    host = pathlib.Path("/run/kernelwright/timing.lock")
    return host if host.exists() else pathlib.Path(tempfile.gettempdir()) / "kernelwright-timing.lock"


def measures(running, lock):
    """Whether a process of this run has the lock alone. Other tests measure on this machine as well."""
    end = f":{os.fstat(lock.fileno()).st_ino}"
    held = (line.split() for line in pathlib.Path("/proc/locks").read_text().splitlines())
    return any(is_below(int(each[4]), running.pid) for each in held if each[1] == "FLOCK" and each[3] == "WRITE" and each[5].endswith(end))


def is_below(pid, ancestor):
    while pid > 1 and pid != ancestor:
        try:
            pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return False
    return pid == ancestor


def state_of(pid):
    """The kernel's letter for it; "" when it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def await_engine(running):
    """The pid of the engine that this kernelwright starts; None once kernelwright has ended."""
    while running.poll() is None:
        if (engine := engine_of(running)) is not None:
            return engine
        time.sleep(0.01)
    return None


def start_timed(program, model, run):
    """A run that times the writer's kernels while the model writes."""
    words = ["solve", PROBLEM, "--proposer", "both", "--model", model, "--samples", 12, "--max-tokens", 4000, "--run", run, "--json"]
    return subprocess.Popen([str(program), *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def case_the_engine_stands_still_while_kernels_are_timed(program, model, folder):
    running = start_timed(program, model, folder / "timed")
    engine = await_engine(running)
    while not timing_lock().exists() and running.poll() is None:
        time.sleep(0.01)
    states = []
    with open(timing_lock()) as lock:
        while running.poll() is None and len(states) < 200:
            # Between the lock and the stop the engine runs for a moment, and again before the lock is given back.
            if measures(running, lock):
                state = state_of(engine)
                if measures(running, lock):
                    states.append(state)
            time.sleep(0.005)
    running.kill()
    running.wait()
    still = states.count("T")
    expect(len(states) >= 10, f"only {len(states)} samples of measuring")
    expect(still > 0.5 * len(states), f"the engine stood still in {still} of {len(states)} samples: {sorted(set(states))}")


def case_a_killed_run_leaves_no_stopped_engine(program, model, folder):
    # The engine's new parent is this process, in the same session: the kernel wakes no orphaned process group then.
    subreaper = 36
    ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0)
    running = start_timed(program, model, folder / "ended_from_outside")
    engine = await_engine(running)
    stopped, deadline = False, time.monotonic() + PATIENCE
    while not stopped and running.poll() is None and time.monotonic() < deadline:
        running.send_signal(signal.SIGSTOP)
        time.sleep(0.005)
        stopped = state_of(engine) == "T"
        if not stopped:
            running.send_signal(signal.SIGCONT)
            time.sleep(0.005)
    expect(stopped, f"the engine was never stopped; the run: {running.poll()}")
    running.kill()
    running.wait()
    deadline = time.monotonic() + PATIENCE
    while state_of(engine) not in ("", "Z") and time.monotonic() < deadline:
        time.sleep(0.01)
    expect(state_of(engine) in ("", "Z"), f"the engine is left behind, in state {state_of(engine)}")
    if state_of(engine) == "Z":
        os.waitpid(engine, 0)
    ctypes.CDLL(None).prctl(subreaper, 0, 0, 0, 0)


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
