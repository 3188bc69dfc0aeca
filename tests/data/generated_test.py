"""Generated problems with the writer's kernels through the real gym: as many families as there are samples, both languages, all forms.

usage: generated_test.py KERNELWRIGHT [--cpp N] [--triton N] [--seed S]
exit: 0 all right; 1 a kernel is wrong, or a problem gives no reward
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def data(program, *words):
    done = subprocess.run([program, "data", *map(str, words)], capture_output=True, text=True, timeout=280)
    if done.returncode != 0:
        sys.exit(f"data {words[0]}: exit code {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def chosen(samples, count):
    """The families and kinds that are rarest so far first; of equal ones the shortest answer, which builds fastest."""
    out, seen = [], {}
    rest = list(samples)
    while rest and len(out) < count:
        best = min(rest, key=lambda s: (seen.get(s["labels"]["family"], 0), seen.get(s["kind"], 0), len(s["messages"][-1]["content"])))
        rest.remove(best)
        out.append(best)
        for key in (best["labels"]["family"], best["kind"]):
            seen[key] = seen.get(key, 0) + 1
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cpp", type=int, default=6)
    parser.add_argument("--triton", type=int, default=4)
    parser.add_argument("--seed", type=int, default=6)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        samples = []
        for language, count in (("cpp", arguments.cpp), ("triton", arguments.triton)):
            path = folder / f"{language}.jsonl"
            data(arguments.program, "generate", "--target", language, "--out", path, "--seed", arguments.seed, "--count", 20 * count,
                 "--max-elements", 2048, "--mix", "implement=3,convert=3,definition=2,repair=1")
            samples += chosen(rows(path), count)
        (folder / "samples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples))
        data(arguments.program, "filter", folder / "samples.jsonl", "--out", folder / "good.jsonl", "--rejected", folder / "bad.jsonl", "--jobs", 2)
        good, bad = rows(folder / "good.jsonl"), rows(folder / "bad.jsonl")
        by_id = {one["id"]: one for one in samples}
        # A kernel that was made wrong on purpose may still be right.
        wrong = [one for one in bad if one["outcome"] != "not_wrong"]
        for one in wrong:
            sample = by_id[one["id"]]
            print(f"WRONG: {sample['kind']} {sample['language']} {sample['group']} {sample['labels']['strategy']}: {one['outcome']} {one['reason']}")
        families = {one["labels"]["family"] for one in samples}
        if len(good) + len(bad) != len(samples) or len(samples) != arguments.cpp + arguments.triton:
            print(f"WRONG: {len(samples)} samples, {len(good)} good, {len(bad)} bad")
            return 1
        print(f"{len(good)} of {len(samples)} samples of {len(families)} families passed, {len(bad) - len(wrong)} were right before their repair")
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
