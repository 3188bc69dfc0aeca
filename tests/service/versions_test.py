#!/usr/bin/env python3
"""Servers, workers and clients of two versions of the gym, side by side and in an upgrade: nothing is lost, and no verdict of one version stands for another's.
Usage: versions_test.py KERNELWRIGHT OLD_KERNELWRIGHT [--count 12]

OLD_KERNELWRIGHT is of an older commit with another kGymVersion (git log -G'kGymVersion = ' -- src/gym/version.h names them), built by hand, as no test builds it:
    git worktree add ../old 71903ed6 && cd ../old && cmake --preset dev && cmake --build build/dev --target kernelwright kw_programs
    cd - && tests/service/versions_test.py build/dev/bin/kernelwright ../old/build/dev/bin/kernelwright
KW_PYTHON names a Python with torch where a checkout has no .venv.

1. Side by side: a service of each version, with a worker of its own. Workers and `eval --judge` of the other version are refused, with both versions named, and all
   tasks of both get the verdicts of their own.
2. Upgrade: COUNT tasks wait in a server of the old version and a worker of it has judged a quarter, when the server is killed (kill -9). A server of the new version
   takes over its folder and port, with a worker of its own. The old worker, which lives and has a task, is refused. All tasks end; those that had ended keep their
   answers; all others are judged by the new version, and say so.
exit: 0 fine, 1 not"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from ports import own_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELU = """#include "problem.h"
extern "C" void run(const float* x, float* y, int64_t N) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] > %s ? x[i] : 0;  // %d
}
"""
OPTIONS = ["--no-timing", "--no-evidence"]
LEASE_SECONDS, PATIENCE_SECONDS = 5, 600


def check(true, what):
    if not true:
        raise AssertionError(what)


def until(what, true):
    end = time.monotonic() + PATIENCE_SECONDS
    while not (value := true()):
        check(time.monotonic() < end, f"never came: {what}")
        time.sleep(0.1)
    return value


class Version:
    """The program of a version, and what it started."""

    def __init__(self, name, program, folder, stack):
        self.name, self.program, self.folder, self.stack = name, program, folder / name, stack
        self.folder.mkdir()
        self.environment = os.environ | {"XDG_CACHE_HOME": f"{self.folder}/cache", "XDG_DATA_HOME": f"{self.folder}/data", "NO_COLOR": "1"}
        facts = json.loads(subprocess.run([program, "--version", "--json"], capture_output=True, text=True, check=True, env=self.environment).stdout)
        self.gym = facts["gym_version"]

    def start(self, log, *words):
        process = subprocess.Popen([self.program, *words], stdout=subprocess.DEVNULL, stderr=open(self.folder / log, "w"), env=self.environment)
        self.stack.callback(end, process)
        return process

    def serve(self, data, port):
        server = self.start(f"serve-{port}.err", "serve", "--data", str(data), "--port", str(port), "--lease", str(LEASE_SECONDS))
        until("a server", lambda: health(port))
        check(health(port)["gym_version"] == self.gym, "the server's version")
        return server

    def work(self, port, name):
        return self.start(f"{name}.err", "worker", "--server", f"http://127.0.0.1:{port}", "--name", name)

    def said(self, name):
        return (self.folder / f"{name}.err").read_text()

    def evaluate(self, candidates, *more):
        done = subprocess.run([self.program, "eval", str(ROOT / "problems/relu"), str(candidates), "--json", *OPTIONS, *more],
                              capture_output=True, text=True, env=self.environment, check=False)
        return done, [json.loads(line) for line in done.stdout.splitlines()]


def end(process):
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=20)
    process.kill()
    process.wait()


def call(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return answer.read().decode()


def health(port):
    with contextlib.suppress(OSError):
        return json.loads(call(port, "/healthz"))
    return None


def metric(port, name):
    return float(re.search(rf"^{name} (\S+)$", call(port, "/metrics"), re.MULTILINE)[1])


def made_by(verdict):
    """The version that a verdict says; None for those of before, which do not say it."""
    return verdict.get("made_with", {}).get("gym_version")


def write_candidates(folder, count):
    folder.mkdir()
    for number in range(count):
        (folder / f"c{number:03}.cpp").write_text(RELU % ("0" if number % 3 else "1", number))
    return folder


def check_verdicts(verdicts, version, other, count):
    outcomes = [verdict.get("outcome") for verdict in verdicts]
    check(outcomes == ["passed" if number % 3 else "wrong_value" for number in range(count)], outcomes)
    versions = {made_by(verdict) for verdict in verdicts}
    check(versions <= {version.gym, None} and other.gym not in versions, versions)


def side_by_side(versions, folder, count):
    candidates = write_candidates(folder / "candidates", count)
    ports = [own_port() for _ in versions]
    for version, port in zip(versions, ports):
        version.serve(version.folder / "tasks", port)
        version.work(port, "worker")
    for version, other, port, others_port in zip(versions, versions[::-1], ports, ports[::-1]):
        stray = version.work(others_port, "stray")
        until(f"the end of the {version.name} worker of the {other.name} server", lambda: stray.poll() is not None)
        check(stray.returncode != 0 and str(version.gym) in version.said("stray") and str(other.gym) in version.said("stray"), version.said("stray"))
        done, verdicts = version.evaluate(candidates, "--judge", f"http://127.0.0.1:{others_port}")
        words = done.stderr + done.stdout
        check(done.returncode != 0 and not any("outcome" in each for each in verdicts), verdicts)
        check(f"version {other.gym} of the gym" in words, words)
        _, verdicts = version.evaluate(candidates, "--judge", f"http://127.0.0.1:{port}", "--jobs", "4")
        check_verdicts(verdicts, version, other, count)
        print(f"side by side: {count} verdicts of version {version.gym}; its worker and its client were refused by a server of {other.gym}")


def ends(port, group):
    return {task["id"]: task for task in json.loads(call(port, f"/v1/groups/{group}"))["ended"]}


def upgrade(old, new, folder, count):
    candidates = write_candidates(folder / "upgraded", count)
    data, port = folder / "tasks", own_port()
    server = old.serve(data, port)
    submitted = subprocess.run([old.program, "submit", str(ROOT / "problems/relu"), str(candidates), "--server", f"http://127.0.0.1:{port}", "--json", *OPTIONS],
                               capture_output=True, text=True, env=old.environment, check=True)
    group, ids = (json.loads(submitted.stdout)[key] for key in ("group", "tasks"))
    worker = old.work(port, "upgraded")
    until("a quarter of the verdicts", lambda: len(ends(port, group)) >= count / 4)
    until("a task that the worker has", lambda: health(port)["leased"] == 1)
    before = ends(port, group)
    server.kill()
    server.wait()
    new.serve(data, port)
    at_start = ends(port, group)
    check(all(at_start.get(task) == end for task, end in before.items()), "an answer has changed")
    new.work(port, "successor")
    until("the end of the old worker", lambda: worker.poll() is not None)
    check(worker.returncode != 0 and str(new.gym) in old.said("upgraded"), old.said("upgraded"))
    until("the end of all tasks", lambda: len(ends(port, group)) == count)
    after = ends(port, group)
    check(after.keys() == {task["id"] for task in ids}, "other tasks than those that were accepted")
    check({task["state"] for task in after.values()} == {"done"}, after)
    check(all(after[task] == end for task, end in at_start.items()), "an answer has changed")
    check({made_by(task["verdict"]) for task in at_start.values()} <= {None, old.gym}, "answers of before")
    later = {task: made_by(end["verdict"]) for task, end in after.items() if task not in at_start}
    check(set(later.values()) == {new.gym}, later)
    check_outcomes = sorted(task["verdict"]["outcome"] for task in after.values())
    check(check_outcomes == sorted("passed" if number % 3 else "wrong_value" for number in range(count)), check_outcomes)
    check(metric(port, "kw_tasks_dead_total") == 0 and metric(port, "kw_tasks_failed_total") == 0, "tasks without a verdict")
    print(f"upgrade: {count} tasks accepted by a server of version {old.gym}, {len(at_start)} judged by that version, {len(later)} by {new.gym}; "
          f"{metric(port, 'kw_workers_lost_total'):.0f} leases of the old worker were lost")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.realpath)
    parser.add_argument("old", type=os.path.realpath)
    parser.add_argument("--count", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kw-versions-") as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        new, old = Version("new", options.program, folder, stack), Version("old", options.old, folder, stack)
        if new.gym == old.gym:
            sys.exit(f"both programs have version {new.gym} of the gym")
        side_by_side([new, old], folder, options.count)
        upgrade(old, new, folder, options.count)
    print("fine")
    return 0


if __name__ == "__main__":
    sys.exit(main())
