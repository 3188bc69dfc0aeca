#!/usr/bin/env python3
"""Mutation score: defects planted in correct kernels, one a mutant, of which the gym must pass none (docs/correctness.md).

    bench/mutants.py make FOLDER [--kernels 120] [--count 1800] [--seed 28] [--only softmax,gelu] [--target cuda]
    bench/mutants.py compare FOLDER [--jobs 8] [--seconds 500]
    bench/mutants.py judge FOLDER [--jobs 8] [--seconds 500]
    bench/mutants.py kernelbench FOLDER [--jobs 8] [--seconds 500] [--sample 200]
    bench/mutants.py report FOLDER

`make` applies bench/mutation_rules.py to tests/honest and chooses mutants so that all rules come equally often (mutants.jsonl). `compare` runs each mutant
without the gym on many shapes and inputs (bench/trusted.py, compared.jsonl): it `differs`, is `equivalent`, is `near` the error budget, does `not compile`, or
is left out because its kernel cannot be compared. Mutants that differ are counted. `judge` lets the gym judge these and their originals (verdicts.*); `kernelbench`
runs KernelBench's protocol on a random sample of them (kernelbench.jsonl). `report` prints the score by rule and outcome, writes survivors/ with the mutants that
passed, and equivalent.diff and near.diff with those that were not counted. Every stage stops at its time limit and goes on where it stopped when it is started again.
--target interpret needs no GPU. Exit 1 of `report`: less than 99.5 % of the counted mutants failed, or an original did not pass.
"""

import argparse
import collections
import difflib
import json
import multiprocessing
import os
import pathlib
import random
import signal
import sys
import threading
import time

import common
import mutation_rules
import trusted

ASKED = 0.995
TURN_SECONDS = 90  # without a word from a worker: the mutant in turn hangs


# ---- rows ----
class Rows:
    """A file of JSON lines that grows; threads may append."""

    def __init__(self, path):
        cut_off = path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")
        self.file, self.lock = path.open("a"), threading.Lock()
        if cut_off:
            self.file.write("\n")

    def append(self, row):
        with self.lock:
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()


# ---- make ----
def make(options):
    """Rules take turns; each takes the mutant of the kernel that has the fewest."""
    draw = random.Random(options.seed)
    only = set(filter(None, options.only.split(",")))
    kernels = [one for one in common.honest_kernels(options.target) if not only or one[0] in only]
    cuda = [one for one in kernels if one[1] == "cuda"]
    others = [one for one in kernels if one[1] != "cuda"]
    kernels = cuda[:options.kernels] + draw.sample(others, min(len(others), max(0, options.kernels - len(cuda))))
    by_rule, taken = collections.defaultdict(list), collections.Counter()
    for problem, language, text in kernels:
        for rule, number, mutated, line in mutation_rules.mutants(text, language):
            if options.target == "interpret" and "bfloat16" in rule:
                continue  # Triton's own interpreter stores such values' bits into other types
            name = f"{problem}__{language}_{rule.replace(' ', '_').replace(chr(39), '')}_{number}"
            by_rule[rule].append({"name": name, "problem": problem, "language": language, "rule": rule, "line": line, "text": mutated})
    for mutants in by_rule.values():
        draw.shuffle(mutants)
    chosen = []
    while by_rule and len(chosen) < options.count:
        for rule in sorted(by_rule):
            if len(chosen) == options.count:
                break
            mutant = min(by_rule[rule], key=lambda one: taken[one["problem"], one["language"]])
            by_rule[rule].remove(mutant)
            taken[mutant["problem"], mutant["language"]] += 1
            chosen.append(mutant)
            if not by_rule[rule]:
                del by_rule[rule]
    options.folder.mkdir(parents=True, exist_ok=True)
    common.write_rows(options.folder / "mutants.jsonl", chosen)
    (options.folder / "settings.json").write_text(json.dumps({"target": options.target, "seed": options.seed}))
    print(f"{len(chosen)} mutants of {len(taken)} kernels by {len({m['rule'] for m in chosen})} rules")
    return 0


# ---- workers ----
def run_groups(groups, jobs, seconds, device, on_row):
    """Gives groups to workers (trusted.py). A worker that dies or says nothing for long costs the mutant in turn alone. on_row(mutant, row)."""
    end, lock = time.monotonic() + seconds, threading.Lock()
    open_groups = collections.deque(groups)

    def slot():
        worker = Worker(device)
        while time.monotonic() < end:
            with lock:
                if not open_groups:
                    break
                group = open_groups.popleft()
            worker = run_group(worker, group, end, on_row)
        worker.stop()

    threads = [threading.Thread(target=slot) for _ in range(min(jobs, len(open_groups)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Worker:
    def __init__(self, device):
        context = multiprocessing.get_context("spawn")
        self.device = device
        self.channel, theirs = context.Pipe()
        self.process = context.Process(target=trusted.worker, args=(theirs, device), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self):
        self.process.kill()
        self.process.join()


def run_group(worker, group, end, on_row):
    """The worker that is left afterwards: this one, or a new one."""
    left = {mutant["name"]: mutant for mutant in group["mutants"]}
    while left and time.monotonic() < end:
        turn, why = None, None
        try:
            worker.channel.send({**group, "mutants": list(left.values())})
            while why is None:
                if not worker.channel.poll(min(TURN_SECONDS, max(0.1, end - time.monotonic()))):
                    if time.monotonic() >= end:
                        worker.stop()
                        return worker
                    why = "hangs"
                    break
                message = worker.channel.recv()
                if message[0] == "turn":
                    turn = message[1]
                elif message[0] == "row":
                    on_row(left.pop(message[1]), message[2])
                elif message[0] == "done":
                    return worker
        except (EOFError, BrokenPipeError, ConnectionResetError):
            why = "ends its process"
        worker.stop()
        worker = Worker(worker.device)
        if turn is None:  # the kernel's own problem: no mutant of it can be looked at
            for mutant in left.values():
                on_row(mutant, {"status": "left out", "how": f"the group {why}"})
            return worker
        if turn in left:
            on_row(left.pop(turn), {"status": "differs", "how": why, "passed": {}})
    return worker


def groups_of(kind, mutants, target):
    by_kernel = collections.defaultdict(list)
    for mutant in mutants:
        by_kernel[mutant["problem"], mutant["language"]].append(mutant)
    out = []
    for (problem, language), some in by_kernel.items():
        honest = common.honest_text(problem, language)
        tasks = [{"name": m["name"], "text": m["text"], "racy": m["rule"] in mutation_rules.RACES} for m in some]
        out.append({"kind": kind, "problem": problem, "language": language, "target": target, "honest": honest, "mutants": tasks})
    return out


def settings(options):
    return json.loads((options.folder / "settings.json").read_text())


def device_of(options):
    return "cuda" if settings(options)["target"] == "cuda" else "cpu"


def compare(options):
    mutants = common.read_rows(options.folder / "mutants.jsonl")
    known = {row["name"] for row in common.read_rows(options.folder / "compared.jsonl")}
    out = Rows(options.folder / "compared.jsonl")
    todo = [mutant for mutant in mutants if mutant["name"] not in known]
    began = time.monotonic()
    run_groups(groups_of("compare", todo, settings(options)["target"]), options.jobs, options.seconds, device_of(options),
               lambda mutant, row: out.append({"name": mutant["name"], **row}))
    rows = common.read_rows(options.folder / "compared.jsonl")
    print(f"{len(rows)} of {len(mutants)} compared, {time.monotonic() - began:.0f} s: {dict(collections.Counter(row['status'] for row in rows))}")
    return 0


def counted(options):
    differing = {row["name"] for row in common.read_rows(options.folder / "compared.jsonl") if row["status"] == "differs"}
    return [mutant for mutant in common.read_rows(options.folder / "mutants.jsonl") if mutant["name"] in differing]


def kernelbench(options):
    mutants = counted(options)
    sample = random.Random(settings(options)["seed"]).sample(mutants, min(len(mutants), options.sample))
    known = {row["name"] for row in common.read_rows(options.folder / "kernelbench.jsonl")}
    out = Rows(options.folder / "kernelbench.jsonl")
    todo = [mutant for mutant in sample if mutant["name"] not in known]
    run_groups(groups_of("kernelbench", todo, settings(options)["target"]), options.jobs, options.seconds, device_of(options),
               lambda mutant, row: out.append({"name": mutant["name"], **row}))
    print(f"{len(common.read_rows(options.folder / 'kernelbench.jsonl'))} of {len(sample)} tried by KernelBench's protocol")
    return 0


# ---- judge ----
def judge(options):
    mutants = counted(options)
    kernels = sorted({(m["problem"], m["language"]) for m in mutants})
    lines = []
    for problem, language in kernels:
        lines.append(common.solution(f"{problem}__{language}_original", problem, language, common.honest_text(problem, language)))
    lines += [common.solution(m["name"], m["problem"], m["language"], m["text"]) for m in mutants]
    path = options.folder / "solutions.jsonl"
    common.write_rows(path, lines)
    common.evaluate_many(options, settings(options)["target"], path, options.folder / "verdicts")
    print(f"{len(common.verdicts_in(options.folder / 'verdicts'))} of {len(lines)} judged")
    return 0


# ---- report ----
def diff_of(mutant):
    original = common.honest_text(mutant["problem"], mutant["language"])
    return "\n".join(difflib.unified_diff(original.splitlines(), mutant["text"].splitlines(), mutant["problem"], mutant["name"], n=1, lineterm=""))


def share(part, whole):
    return f"{part} of {whole}, {100 * part / whole:.2f} %" if whole else "none"


def why_failed(verdict):
    return verdict["violation"] or verdict["outcome"]


def report(options):
    mutants = {mutant["name"]: mutant for mutant in common.read_rows(options.folder / "mutants.jsonl")}
    compared = {row["name"]: row for row in common.read_rows(options.folder / "compared.jsonl")}
    verdicts = common.verdicts_in(options.folder / "verdicts")
    for status in ("equivalent", "near"):
        names = [name for name, row in compared.items() if row["status"] == status]
        (options.folder / f"{status}.diff").write_text("".join(f"# {compared[n].get('how', '')}\n{diff_of(mutants[n])}\n\n" for n in names))
    failed_originals = {name: verdict for name, verdict in verdicts.items() if name.endswith("_original") and verdict["outcome"] != "passed"}
    excluded = {(v["problem"]["name"], v["candidate"]["language"]) for v in failed_originals.values()}
    judged = {name: verdict for name, verdict in verdicts.items()
              if name in mutants and compared.get(name, {}).get("status") == "differs" and (mutants[name]["problem"], mutants[name]["language"]) not in excluded}
    survivors = [name for name, verdict in judged.items() if verdict["outcome"] == "passed"]
    print(f"{len(mutants)} mutants by {len({m['rule'] for m in mutants.values()})} rules; compared: {dict(collections.Counter(row['status'] for row in compared.values()))}")
    print(f"originals: {sum(name.endswith('_original') for name in verdicts)} judged, {len(failed_originals)} did not pass (their mutants are not counted)")
    for name, verdict in failed_originals.items():
        print(f"  {name}: {common.explain(verdict)[:200]}")
    kernels = {(mutants[n]["problem"], mutants[n]["language"]) for n in judged}
    print(f"\n{len(judged)} counted mutants judged, of {len(kernels)} kernels by {len({mutants[n]['rule'] for n in judged})} rules; "
          f"not passed: {share(len(judged) - len(survivors), len(judged))} (asked: {100 * ASKED} %)")
    beside = {name for name in judged if compared[name].get("beside")}
    print(f"{len(beside)} of these are wrong only by what they read beside their tensors; the others, not passed: "
          f"{share(len(judged) - len(beside) - len(set(survivors) - beside), len(judged) - len(beside))}")
    outcomes = collections.Counter(why_failed(verdict) for verdict in judged.values())
    print("by outcome:", ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common()))
    print("\n| rule | counted | not passed | outcomes |\n|---|---|---|---|")
    by_rule = collections.defaultdict(list)
    for name in judged:
        by_rule[mutants[name]["rule"]].append(name)
    for rule, names in sorted(by_rule.items()):
        counts = collections.Counter(why_failed(judged[n]) for n in names)
        print(f"| {rule} | {len(names)} | {len(names) - counts['passed']} | {', '.join(f'{o} {c}' for o, c in counts.most_common())} |")
    if survivors:
        print("\nPassed though they differ:")
        (options.folder / "survivors").mkdir(exist_ok=True)
    for name in survivors:
        file = options.folder / "survivors" / f"{name}.{common.SUFFIXES[mutants[name]['language']]}"
        file.write_text(mutants[name]["text"])
        only = "; by what it reads beside its tensors" if name in beside else ""
        print(f"  {file} (line {mutants[name]['line']}): {compared[name].get('case', '')}: {compared[name]['how']}{only}")
    report_kernelbench(options, judged)
    return 1 if failed_originals or len(survivors) > (1 - ASKED) * len(judged) else 0


def report_kernelbench(options, judged):
    rows = {row["name"]: row["passed"] for row in common.read_rows(options.folder / "kernelbench.jsonl") if "passed" in row and row["name"] in judged}
    if not rows:
        return
    print(f"\nKernelBench's protocol on {len(rows)} of these mutants, chosen at random (five trials on the published shape):")
    for key in ("1e-2", "by precision"):
        print(f"  tolerance {key}: not passed {share(sum(not passed.get(key, False) for passed in rows.values()), len(rows))}")
    print(f"  the gym on the same: not passed {share(sum(judged[name]['outcome'] != 'passed' for name in rows), len(rows))}")


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_many_options(parser)
    parser.add_argument("stage", choices=["make", "compare", "judge", "kernelbench", "report"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kernels", type=int, default=120)
    parser.add_argument("--count", type=int, default=1800)
    parser.add_argument("--seed", type=int, default=28)
    parser.add_argument("--only", default="", help="problems, with commas between")
    parser.add_argument("--target", default="cuda", choices=["cuda", "interpret"])
    parser.add_argument("--sample", type=int, default=200)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TRITON_CACHE_DIR", str(options.folder / "triton"))
    if options.stage != "make" and not (options.folder / "mutants.jsonl").exists():
        sys.exit(f"{options.folder}/mutants.jsonl: missing; `make` writes it")
    return globals()[options.stage](options)


if __name__ == "__main__":
    sys.exit(main())
