#!/usr/bin/env python3
"""Real candidates judged by the workers of a service and by one local run: the verdicts must be the same. A worker is killed in the middle.
Usage: many_candidates.py KERNELWRIGHT [--count 500] [--workers 4] [--jobs 1] [--local-jobs 2] [--modules 3] [--keep FOLDER]

`eval --dataset` over COUNT candidates: C++ and Python of examples/, each copy with a comment of its own, and for the other problems of the suite the reference
as a candidate, right and with a planted mistake. Without timing, so that a verdict is a function of the candidate. First one local run with --local-jobs at
once; then `serve` and --workers workers, each with --jobs tasks at once, and `eval --judge` over the same. When a third of the tasks is done one worker is
killed (kill -9) with what it has; it is not started again. Local run and workers have caches of their own, so that both build everything.
Then `solve --judge` on --modules modules, each beside a local `solve`: the same outcomes.

Needs python3 and the build alone; KW_PYTHON names a Python with torch where the checkout has no .venv. --keep FOLDER leaves all files there.
Prints the times, and how many tasks the killed worker had. exit: 0 the verdicts are the same and nothing failed, 1 not."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
LANGUAGES = {".cpp": "cpp", ".py": "python"}
LEASE_SECONDS = 10
EVAL = ["--no-timing", "--no-evidence"]

# The reference with another name for what it computes, and a mistake in the first result.
WRONG = """

_right = run


def run(*inputs, **named):
    import torch

    out = _right(*inputs, **named)
    first = out[0] if isinstance(out, (tuple, list)) else next(iter(out.values())) if isinstance(out, dict) else out
    wrong = ~first if first.dtype == torch.bool else first + 1
    if isinstance(out, dict):
        return {**out, next(iter(out)): wrong}
    return (wrong, *out[1:]) if isinstance(out, (tuple, list)) else wrong
"""


def solution(name, problem, suffix, text):
    language = LANGUAGES[suffix]
    spec = {"language": language, "target_hardware": ["cpu"], "entry_point": f"main{suffix}::run", "dependencies": []}
    if language == "python":
        spec["destination_passing_style"] = False
    return {"name": name, "definition": problem, "author": "many_candidates", "spec": spec, "sources": [{"path": f"main{suffix}", "content": text}]}


def example_candidates(number):
    """The files of examples/, once more for each number."""
    for file in sorted(ROOT.glob("examples/*/*")):
        if file.suffix in LANGUAGES and (ROOT / "problems" / file.parent.name).is_dir():
            comment = "//" if file.suffix == ".cpp" else "#"
            yield solution(f"{file.parent.name}_{file.stem}_{number}", file.parent.name, file.suffix, f"{file.read_text()}\n{comment} {number}\n")


def reference_candidates():
    for folder in sorted((ROOT / "problems").iterdir()):
        if not (folder / "definition.json").exists():
            continue
        reference = json.loads((folder / "definition.json").read_text())["reference"]
        yield solution(f"{folder.name}_reference", folder.name, ".py", reference)
        yield solution(f"{folder.name}_mistaken", folder.name, ".py", reference + WRONG)


def candidates(count):
    """Half of them are examples, as far as there are references for the other half. Spread over the problems."""
    references = list(reference_candidates())
    step = max(1, len(references) // max(1, count // 2))
    chosen = references[::step][: count // 2]
    number = 0
    while len(chosen) < count:
        chosen += list(example_candidates(number))[: count - len(chosen)]
        number += 1
    return chosen


def write_dataset(folder, chosen):
    (folder / "problems").mkdir(parents=True)
    (folder / "solutions").mkdir()
    for problem in sorted({each["definition"] for each in chosen}):
        shutil.copytree(ROOT / "problems" / problem, folder / "problems" / problem)
    for each in chosen:
        (folder / "solutions" / f"{each['name']}.json").write_text(json.dumps(each))


def verdicts(out):
    """By candidate, what a verdict says of it; and what made each."""
    found, made = {}, set()
    for line in pathlib.Path(f"{out}.verdicts.jsonl").read_text().splitlines():
        verdict = json.loads(line)["verdict"]
        name = verdict["candidate"]["name"]
        if name in found:
            sys.exit(f"FAILED: {name} has two verdicts in {out}")
        workloads = sorted((each["uuid"], each["outcome"]) for each in verdict["workloads"])
        found[name] = [verdict["problem"]["hash"], verdict["candidate"]["hash"], verdict["outcome"], verdict["violation"], verdict["evidence_level"], workloads]
        made.add(json.dumps(verdict.get("made_with"), sort_keys=True))
    return found, made


class Service:
    """A server and its workers, with folders of their own."""

    def __init__(self, program, folder, workers, jobs):
        self.program, self.folder, self.running = program, folder, []
        self.environment = os.environ | {"XDG_CACHE_HOME": f"{folder}/cache", "XDG_DATA_HOME": f"{folder}/data", "NO_COLOR": "1"}
        server = subprocess.Popen([program, "serve", "--data", f"{folder}/tasks", "--port", "0", "--lease", str(LEASE_SECONDS)],
                                  stdout=subprocess.PIPE, stderr=open(folder / "serve.err", "w"), text=True, env=self.environment)
        self.running.append(server)
        self.url = server.stdout.readline().strip()
        if not self.url.startswith("http"):
            sys.exit("FAILED: the server does not start: " + (folder / "serve.err").read_text())
        self.workers = [self.start_worker(f"worker-{number}", jobs) for number in range(workers)]

    def start_worker(self, name, jobs):
        words = [self.program, "worker", "--server", self.url, "--name", name, "--jobs", str(jobs)]
        worker = subprocess.Popen(words, stderr=open(self.folder / f"{name}.err", "w"), env=self.environment)
        self.running.append(worker)
        return worker

    def metrics(self):
        text = urllib.request.urlopen(self.url + "/metrics", timeout=60).read().decode()
        return {name: float(value) for name, value in re.findall(r"^(kw_\w+) (\S+)$", text, re.MULTILINE)}

    def stop(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=60)
            if process.poll() is None:
                process.kill()


def leased_by(log):
    """Tasks that a worker's messages say it has."""
    text = log.read_text()
    began, ended = (set(re.findall(pattern, text)) for pattern in (r"task (\d+): leased", r"task (\d+): (?:complete|fail|release)"))
    return began - ended


def kill_in_the_middle(service, process, count):
    """Kills the first worker that has a task, once a third of the tasks is done."""
    while process.poll() is None:
        if service.metrics()["kw_tasks_done_total"] >= count / 3:
            for number, worker in enumerate(service.workers):
                if had := leased_by(service.folder / f"worker-{number}.err"):
                    worker.kill()
                    worker.wait()
                    return number, had
        time.sleep(0.1)
    sys.exit("FAILED: all was over before a worker could be killed")


def evaluate(program, folder, out, jobs, environment, *more):
    words = [program, "eval", "--dataset", str(folder / "problems"), "--solutions", str(folder / "solutions"), "--out", str(out), "--jobs", str(jobs), *EVAL, *more]
    return subprocess.Popen(words, stdout=open(f"{out}.out", "w"), stderr=open(f"{out}.err", "w"), env=environment)


def wait_for(process, what, out):
    if process.wait() != 0:
        sys.exit(f"FAILED: {what}: exit {process.returncode}\n" + pathlib.Path(f"{out}.err").read_text()[-2000:])


def solve(program, module, run, environment, *more):
    words = [program, "solve", str(module), "--proposer", "writer", "--run", str(run), "--samples", "1", "--json", *EVAL, *more]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    if not done.stdout.strip():
        sys.exit(f"FAILED: solve {module}: exit {done.returncode}: {done.stderr[-2000:]}")
    row = json.loads(done.stdout.splitlines()[0])
    counts = {key: row.get(key) for key in ("attempts", "extracted", "compiled", "correct", "end")}
    best = row.get("best") or {}
    return counts | {"outcome": best.get("outcome"), "candidate_hash": best.get("candidate_hash")}


def modules():
    return [path for path in sorted(ROOT.glob("problems/modules/*.py")) if path.stem not in ("constant_zero", "dropout")]  # which are there to be quarantined


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.realpath)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1, help="of each worker")
    parser.add_argument("--local-jobs", type=int, default=2)
    parser.add_argument("--modules", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        scratch = options.keep or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kw-many-")))
        return compare(options, scratch, stack)


def compare(options, scratch, stack):
    chosen = candidates(options.count)
    write_dataset(scratch / "dataset", chosen)
    (scratch / "local").mkdir()
    (scratch / "remote").mkdir()
    here = os.environ | {"XDG_CACHE_HOME": f"{scratch}/local/cache", "XDG_DATA_HOME": f"{scratch}/local/data", "NO_COLOR": "1"}
    begin = time.monotonic()
    out = scratch / "local/out.jsonl"
    wait_for(evaluate(options.program, scratch / "dataset", out, options.local_jobs, here), "the local run", out)
    local_seconds = time.monotonic() - begin
    local, made_here = verdicts(out)
    service = Service(options.program, scratch / "remote", options.workers, options.jobs)
    stack.callback(service.stop)
    begin = time.monotonic()
    out = scratch / "remote/out.jsonl"
    process = evaluate(options.program, scratch / "dataset", out, 2 * options.workers * options.jobs, here, "--judge", service.url)
    killed, had = kill_in_the_middle(service, process, options.count)
    wait_for(process, "eval --judge", out)
    remote_seconds = time.monotonic() - begin
    remote, made_there = verdicts(out)
    counts = service.metrics()
    differing = [name for name in local.keys() | remote.keys() if local.get(name) != remote.get(name)]
    outcomes = {}
    for row in local.values():
        outcomes[row[2]] = outcomes.get(row[2], 0) + 1
    print(f"{len(local)} candidates of {len({each['definition'] for each in chosen})} problems: {outcomes}")
    print(f"local, {options.local_jobs} at once: {local_seconds:.0f} s; {options.workers} workers with {options.jobs} each, one killed: {remote_seconds:.0f} s")
    print(f"worker-{killed} was killed with tasks {sorted(had, key=int)}; {counts['kw_workers_lost_total']:.0f} leases were lost, "
          f"{counts['kw_task_retries_elsewhere_total']:.0f} retries went to another worker, {counts['kw_task_retries_there_total']:.0f} to the same")
    wrong = [f"{name}: {local.get(name)} here, {remote.get(name)} there" for name in differing]
    if len(local) != options.count:
        wrong.append(f"{len(local)} verdicts for {options.count} candidates")
    if made_here != made_there:
        wrong.append(f"made with {made_here} here and {made_there} there")
    for name in ("kw_tasks_failed_total", "kw_tasks_dead_total", "kw_task_retries_there_total"):
        if counts[name]:
            wrong.append(f"{name} is {counts[name]:.0f}")
    if counts["kw_workers_lost_total"] != len(had):
        wrong.append(f"{counts['kw_workers_lost_total']:.0f} leases were lost, and the killed worker had {len(had)}")
    for number, module in enumerate(modules()[: options.modules]):
        rows = [solve(options.program, module, scratch / f"run-{number}-{place}", here, *more) for place, more in (("here", []), ("there", ["--judge", service.url]))]
        print(f"solve {module.stem}: {rows[1]}")
        if rows[0] != rows[1] or None in rows[0].values():
            wrong.append(f"solve {module.stem}: {rows[0]} here, {rows[1]} there")
    for line in wrong:
        print("FAILED:", line)
    print("fine" if not wrong else f"{len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
