#!/usr/bin/env python3
"""As few of `data generate`'s samples as give so many of each operator in each strategy, for judging by `data filter` or bench/triton_gpu.py.

    bench/choose_samples.py SAMPLES.jsonl CHOSEN.jsonl [--per-cell 30] [--judged LOG]

The first of all cells are taken before the second; `data filter --per-cell` draws them at random instead, and replaces those whose problem is quarantined. With --judged,
what `data filter` has judged already counts, but for such samples, and only what is still missing is chosen.
"""
import argparse
import collections
import json
import sys


def cells_of(row):
    """Torch's operators and the generator's, each with the strategy."""
    labels = row["labels"]
    return {(operator, labels["strategy"]) for operator in labels["operators"] + labels.get("made_of", [])}


def samples_in(path):
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            if row["kind"] in ("implement", "convert", "definition"):
                yield row, line


def judged(path):
    """id -> whether `data filter` found the sample's problem good, from its log."""
    with open(path) as file:
        return {row["id"]: row["fault"] != "problem" for row in map(json.loads, file) if "id" in row}


def choose(options):
    found = judged(options.judged) if options.judged else {}
    waiting, counts, chosen = [], collections.Counter(), []
    for row, line in samples_in(options.samples):
        if row["id"] not in found:
            waiting.append((cells_of(row), line))
        elif found[row["id"]]:
            counts.update(cells_of(row))
    for wanted in range(1, options.per_cell + 1):
        rest = []
        for cells, line in waiting:
            if any(counts[cell] < wanted for cell in cells):
                counts.update(cells)
                chosen.append(line)
            else:
                rest.append((cells, line))
        waiting = rest
    with open(options.chosen, "w") as file:
        file.writelines(chosen)
    short = sum(count < options.per_cell for count in counts.values())
    print(f"{len(chosen)} samples, {len(counts)} cells of operator and strategy, {short} of them with fewer than {options.per_cell}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples")
    parser.add_argument("chosen")
    parser.add_argument("--per-cell", type=int, default=30)
    parser.add_argument("--judged", help="log of `data filter`")
    return choose(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
