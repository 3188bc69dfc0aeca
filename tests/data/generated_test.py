"""Generated problems with the writer's kernels through the real gym: a sample stratified by operator x strategy x language, drawn by a seeded hash.

usage: generated_test.py KERNELWRIGHT [--cpp N] [--triton N] [--seed S]
prints the cells that were drawn from, the failures, and the upper 95 % bound of the error rate
exit: 0 all right; 1 a kernel is wrong, or more than half of the problems are quarantined
"""

import argparse
import hashlib
import json
import math
import pathlib
import subprocess
import sys
import tempfile

NO_FAULT = ("quarantined", "unsupported", "noisy", "bad_problem", "borderline")


def data(program, *words):
    done = subprocess.run([program, "data", *map(str, words)], capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        sys.exit(f"data {words[0]}: exit code {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def cells_of(sample):
    labels = sample["labels"]
    return {f"{operator} | {labels['strategy']} | {sample['language']}" for operator in labels["operators"] + labels["made_of"]}


def chosen(samples, count, seed):
    """Cells in the order of their hashes, each that no chosen sample is in: of its samples one of the kind that is rarest so far, by hash."""

    def key(text):
        return hashlib.sha256(f"{seed} {text}".encode()).digest()

    by_cell = {}
    for sample in samples:
        for cell in cells_of(sample):
            by_cell.setdefault(cell, []).append(sample)
    out, covered, kinds = [], set(), {}
    for cell in sorted(by_cell, key=key):
        if len(out) == count:
            break
        if cell in covered:
            continue
        best = min(by_cell[cell], key=lambda one: (kinds.get(one["kind"], 0), key(one["id"])))
        out.append(best)
        covered |= cells_of(best)
        kinds[best["kind"]] = kinds.get(best["kind"], 0) + 1
    return out, covered, set(by_cell)


def upper_bound(failures, judged):
    """One-sided 95 % bound of Clopper and Pearson: the rate at which so few failures have a chance of 5 %."""
    if failures >= judged:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        chance = sum(math.comb(judged, k) * rate**k * (1 - rate) ** (judged - k) for k in range(failures + 1))
        low, high = (rate, high) if chance > 0.05 else (low, rate)
    return high


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cpp", type=int, default=10)
    parser.add_argument("--triton", type=int, default=4)
    parser.add_argument("--seed", type=int, default=6)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        samples, covered, cells = [], set(), set()
        for language, count in (("cpp", arguments.cpp), ("triton", arguments.triton)):
            path = folder / f"{language}.jsonl"
            data(arguments.program, "generate", "--target", language, "--out", path, "--seed", arguments.seed, "--count", 20 * count,
                 "--max-elements", 2048, "--mix", "implement=3,convert=3,definition=2,repair=1")
            drawn, its_covered, its_cells = chosen(rows(path), count, arguments.seed)
            samples += drawn
            covered |= its_covered
            cells |= its_cells
        (folder / "samples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples))
        data(arguments.program, "filter", folder / "samples.jsonl", "--out", folder / "good.jsonl", "--rejected", folder / "bad.jsonl", "--jobs", 2)
        good, bad = rows(folder / "good.jsonl"), rows(folder / "bad.jsonl")
        by_id = {one["id"]: one for one in samples}
        # A kernel that was made wrong on purpose may still be right, and a problem may be one that the gym does not give rewards for.
        faultless = [one for one in bad if one["outcome"] in NO_FAULT]
        wrong = [one for one in bad if one["outcome"] not in ("not_wrong", *NO_FAULT)]
        for one in faultless:
            print(f"no fault of the kernel: {by_id[one['id']]['group']}: {one['outcome']} {one['reason']}")
        for one in wrong:
            sample = by_id[one["id"]]
            print(f"WRONG: {sample['kind']} {sample['language']} {sample['group']} {sample['labels']['strategy']}: {one['outcome']} {one['reason']}")
        if len(good) + len(bad) != len(samples) or len(samples) != arguments.cpp + arguments.triton:
            print(f"WRONG: {len(samples)} samples, {len(good)} good, {len(bad)} bad")
            return 1
        judged = len(good) + len(wrong)
        print(f"{len(samples)} samples of {len(covered)} cells (operator x strategy x language) of {len(cells)}")
        right_before = len(bad) - len(wrong) - len(faultless)
        print(f"{len(wrong)} of {judged} answers failed; {right_before} were right before their repair, of {len(faultless)} nothing is known")
        print(f"error rate at most {100 * upper_bound(len(wrong), judged):.1f} % (95 %, Clopper-Pearson)")
        if 2 * len(faultless) > len(samples):
            print("WRONG: of most problems nothing is known")
        return 1 if wrong or 2 * len(faultless) > len(samples) else 0


if __name__ == "__main__":
    sys.exit(main())
