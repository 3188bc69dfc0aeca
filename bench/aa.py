#!/usr/bin/env python3
"""A/A: every reference judged as its own candidate, several times. Intervals for the speedup should cover 1.0 as often as they say.

    bench/aa.py [--target cpu] [--intervals 300] [--problems problems] [--max-seconds 10] [--jobs 1] [--sample 0] [--program build/dev/bin/kernelwright] [--out results.json]

With --target cuda the honest kernels of tests/honest take the references' place, each with itself as the baseline, for a reference in Python is no candidate
there. --jobs problems are opened side by side; the gym measures one at a time. --sample takes so many at random. Prints a line a problem and the one-sided
binomial test of the misses; exit 1 when the misses cannot be chance (p < 0.1 %), or when a candidate fails.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import common

STATED_MISS_RATE = 0.05
REJECT_BELOW = 0.001


def candidate_text(problem, number):
    """The reference as a candidate; the number makes it another file."""
    if problem.is_dir():
        source = json.loads((problem / "definition.json").read_text())["reference"]
    else:
        source = problem.read_text() + "\n\nclass ModelNew(Model):\n    pass\n"
    return f"# A/A {number}\n{source}"


def find_problems(folder):
    found = [path.parent for path in sorted(folder.glob("*/definition.json"))]
    found += sorted(folder.glob("modules/*.py"))
    return found or sorted(folder.glob("*.py"))


def contests_on_cpu(folder):
    """[(label, problem, suffix, text by number, extra options)]"""
    return [(problem.stem, problem, ".py", lambda number, problem=problem: candidate_text(problem, number), []) for problem in find_problems(folder)]


def contests_on_gpu(folder, scratch):
    """The same of the honest kernels, which are their own baselines."""
    found = []
    for name, language, text in common.honest_kernels("cuda"):
        suffix, comment = f".{common.SUFFIXES[language]}", "//" if language == "cuda" else "#"
        baseline = scratch / f"{name}_{language}_baseline{suffix}"
        baseline.write_text(text)
        found.append((f"{name} {language}", folder / name, suffix, lambda number, text=text, comment=comment: f"{text}\n{comment} A/A {number}\n", ["--target", "cuda", "--baseline", str(baseline)]))
    return found


def judge(arguments, contest, numbers, scratch):
    _, problem, suffix, text, options = contest
    files = []
    for number in numbers:
        files.append(scratch / f"{problem.stem}_{number}{suffix}")
        files[-1].write_text(text(number))
    command = [arguments.program, "eval", str(problem), *map(str, files), "--json", "--no-evidence", "--max-seconds", str(arguments.max_seconds), *options]
    run = subprocess.run(command, capture_output=True, text=True)
    verdicts = [json.loads(line) for line in run.stdout.splitlines()]
    if not verdicts:
        sys.exit(f"{problem}: {run.stderr.strip()}")
    return verdicts


def tail_probability(misses, count, rate):
    """P(at least so many misses)."""
    return math.fsum(math.exp(log_probability(k, count, rate)) for k in range(misses, count + 1))


def log_probability(hits, count, rate):
    """Of so many hits, by the binomial distribution."""
    ways = math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
    return ways + hits * math.log(rate) + (count - hits) * math.log1p(-rate)


class Tally:
    def __init__(self):
        self.intervals, self.wrong, self.rows = [], [], []

    def add(self, label, verdicts):
        """Prints a line."""
        line = []
        for verdict in verdicts:
            outcome = verdict.get("outcome", "error")
            self.rows.append({"problem": label, **verdict})
            if outcome == "passed" and verdict["speedup"]:
                speedup = verdict["speedup"]
                self.intervals.append((label, speedup["low"], speedup["median"], speedup["high"]))
                miss = "" if speedup["low"] <= 1 <= speedup["high"] else "!"
                line.append(f"{speedup['median']:.3f} ±{50 * (speedup['high'] - speedup['low']):.1f}%{miss}")
                continue
            line.append(outcome)
            hints = "; ".join(d["message"].splitlines()[0] for d in verdict.get("diagnostics", [])[:1])
            if outcome not in ("noisy", "quarantined", "passed"):
                self.wrong.append(f"{label}: {outcome}: {hints}")
            elif not (len(line) > 1 and outcome in line[-2]):
                line[-1] += f" ({hints})"
        print(f"{label:32}", "  ".join(line), flush=True)

    def report(self):
        """Whether the misses can be chance and nothing failed."""
        misses = [entry for entry in self.intervals if not entry[1] <= 1 <= entry[3]]
        chance = tail_probability(len(misses), len(self.intervals), STATED_MISS_RATE)
        widths = [50 * (high - low) for _, low, _, high in self.intervals]
        print(f"{len(self.intervals)} intervals, {len(misses)} do not cover 1.0 ({100 * len(misses) / max(1, len(self.intervals)):.1f} %); "
              f"binomial test against 5 %: p = {chance:.3g}; half-width {common.spread(widths)} %")
        for entry in misses:
            print("  miss: {} {:.4f} {:.4f} {:.4f}".format(*entry))
        for entry in self.wrong:
            print("  FAILED", entry)
        return not self.wrong and chance >= REJECT_BELOW


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_option(parser)
    parser.add_argument("--target", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--intervals", type=int, default=300)
    parser.add_argument("--problems", type=pathlib.Path, default=common.ROOT / "problems")
    parser.add_argument("--max-seconds", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()

    tally, quarantined = Tally(), set()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        scratch = pathlib.Path(name)
        contests = contests_on_cpu(arguments.problems) if arguments.target == "cpu" else contests_on_gpu(arguments.problems, scratch)
        if arguments.sample:
            contests = random.Random(arguments.seed).sample(contests, min(len(contests), arguments.sample))
        repeats = math.ceil(arguments.intervals / max(1, len(contests)))

        def judge_all(chosen, numbers):
            for contest, verdicts in zip(chosen, pool.map(lambda contest: judge(arguments, contest, numbers, scratch), chosen)):
                tally.add(contest[0], verdicts)
                if all(verdict.get("outcome") == "quarantined" for verdict in verdicts):
                    quarantined.add(contest[0])

        judge_all(contests, range(repeats))
        # Problems without a reward give no interval: the others are judged once more, as often as it takes.
        for number in range(repeats, 2 * repeats):
            for start in range(0, len(contests), arguments.jobs):
                if len(tally.intervals) < arguments.intervals:
                    judge_all([contest for contest in contests[start:start + arguments.jobs] if contest[0] not in quarantined], [number])
    if arguments.out:
        arguments.out.write_text(json.dumps(tally.rows))
    sys.exit(0 if tally.report() else 1)


if __name__ == "__main__":
    main()
