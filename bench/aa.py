#!/usr/bin/env python3
"""A/A: every reference judged as its own candidate, several times. Intervals for the speedup should cover 1.0 as often as they say.

    bench/aa.py [--intervals 300] [--problems problems] [--max-seconds 10] [--program build/dev/bin/kernelwright] [--out results.json]

Prints a line a problem and the one-sided binomial test of the misses; exit 1 when the misses cannot be chance (p < 0.1 %), or when a
reference fails as its own candidate.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

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


def judge(program, problem, numbers, max_seconds, scratch):
    files = []
    for number in numbers:
        files.append(scratch / f"{problem.stem}_{number}.py")
        files[-1].write_text(candidate_text(problem, number))
    command = [program, "eval", str(problem), *map(str, files), "--json", "--no-evidence", "--max-seconds", str(max_seconds)]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--intervals", type=int, default=300)
    parser.add_argument("--problems", type=pathlib.Path, default=root / "problems")
    parser.add_argument("--max-seconds", type=float, default=10)
    parser.add_argument("--program", default=str(root / "build/dev/bin/kernelwright"))
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()

    problems = find_problems(arguments.problems)
    repeats = math.ceil(arguments.intervals / max(1, len(problems)))
    intervals, wrong, rows = [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        # Problems without a reward give no interval: the others are judged once more, as often as it takes.
        rounds = [(problem, range(repeats)) for problem in problems]
        rounds += [(problem, [number]) for number in range(repeats, 2 * repeats) for problem in problems]
        quarantined = set()
        for count, (problem, numbers) in enumerate(rounds):
            if problem in quarantined or (count >= len(problems) and len(intervals) >= arguments.intervals):
                continue
            verdicts = judge(arguments.program, problem, numbers, arguments.max_seconds, pathlib.Path(scratch))
            if all(verdict.get("outcome") == "quarantined" for verdict in verdicts):
                quarantined.add(problem)
            line = []
            for verdict in verdicts:
                outcome = verdict.get("outcome", "error")
                rows.append({"problem": problem.stem, **verdict})
                if outcome == "passed" and verdict["speedup"]:
                    speedup = verdict["speedup"]
                    intervals.append((problem.stem, speedup["low"], speedup["median"], speedup["high"]))
                    miss = "" if speedup["low"] <= 1 <= speedup["high"] else "!"
                    line.append(f"{speedup['median']:.3f} ±{50 * (speedup['high'] - speedup['low']):.1f}%{miss}")
                else:
                    line.append(outcome)
                    hints = "; ".join(d["message"].splitlines()[0] for d in verdict.get("diagnostics", [])[:1])
                    if outcome not in ("noisy", "quarantined", "passed"):
                        wrong.append(f"{problem.stem}: {outcome}: {hints}")
                    elif not (len(line) > 1 and outcome in line[-2]):
                        line[-1] += f" ({hints})"
            print(f"{problem.stem:24}", "  ".join(line), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows))

    misses = [entry for entry in intervals if not entry[1] <= 1 <= entry[3]]
    chance = tail_probability(len(misses), len(intervals), STATED_MISS_RATE)
    widths = sorted(50 * (high - low) for _, low, _, high in intervals)
    print(f"{len(intervals)} intervals, {len(misses)} do not cover 1.0 ({100 * len(misses) / max(1, len(intervals)):.1f} %); "
          f"binomial test against 5 %: p = {chance:.3g}; half-width median {widths[len(widths) // 2]:.2f} %")
    for entry in misses:
        print("  miss: {} {:.4f} {:.4f} {:.4f}".format(*entry))
    for entry in wrong:
        print("  FAILED", entry)
    sys.exit(1 if wrong or chance < REJECT_BELOW else 0)


if __name__ == "__main__":
    main()
