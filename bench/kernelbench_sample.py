#!/usr/bin/env python3
"""KernelBench problems at sizes for one core: each reference as its own candidate, and the candidates of bench/kernelbench.

    bench/kernelbench_sample.py ROWS.jsonl [--program build/dev/bin/kernelwright] [--max-seconds 10]

ROWS: rows with code, level, name, problem_id. A reference passes, or its problem is quarantined for the reason that SETTINGS names; candidates pass
where their problem is admitted. Exit 1 otherwise.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

# (level, problem) -> constants, and the reason for which the problem is quarantined.
SETTINGS = {
    (1, 1): (["N=512"], None),
    (1, 19): (["batch_size=64", "dim=16384"], "input 0 passed through"),  # its inputs are never negative
    (1, 23): (["batch_size=64", "dim=16384"], None),
    (1, 36): (["batch_size=2", "dim1=128", "dim2=128"], None),
    (1, 40): (["dim1=32", "dim2=32"], None),
    (1, 47): (["batch_size=4", "dim1=512", "dim2=511"], None),
    (1, 89): (["batch_size=256", "input_shape=(4096,)"], None),
    (1, 95): (["batch_size=1024", "num_classes=1024"], None),
    (2, 40): (["batch_size=128", "in_features=512", "out_features=512"], None),
    (2, 59): (["in_features=1024", "out_features=1024"], None),
    (2, 76): (["batch_size=128", "in_features=1024", "out_features=1024"], None),
    (2, 80): (["batch_size=128", "in_features=512", "out_features=512"], "zeros"),  # a value less itself
    (3, 1): (["batch_size=32", "input_size=512", "layer_sizes=[512, 512]", "output_size=512"], None),
}


def judge(arguments, row, candidates):
    key = f"{row['level']}/{row['problem_id']}"
    settings, _ = SETTINGS[row["level"], row["problem_id"]]
    command = [arguments.program, "eval", f"{arguments.rows}#{key}", *map(str, candidates), "--json", "--max-seconds", str(arguments.max_seconds)]
    command += [part for setting in settings for part in ("--set", setting)]
    run = subprocess.run(command, capture_output=True, text=True)
    verdicts = [json.loads(line) for line in run.stdout.splitlines()]
    return verdicts or sys.exit(f"{key}: {run.stderr.strip()}")


def as_expected(verdict, reason):
    texts = [d["message"] for d in verdict.get("diagnostics", [])]
    if reason is None:
        return verdict.get("outcome") == "passed"
    return verdict.get("outcome") == "quarantined" and any(reason in text for text in texts)


def line_of(verdict):
    speedup = verdict.get("speedup")
    if speedup:
        return f"{verdict['outcome']} {speedup['median']:.2f}x [{speedup['low']:.2f}, {speedup['high']:.2f}]"
    return "; ".join([verdict.get("outcome", str(verdict.get("error")))] + [d["message"][:150] for d in verdict.get("diagnostics", [])[:1]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--program", default=str(root / "build/dev/bin/kernelwright"))
    parser.add_argument("--max-seconds", type=float, default=10)
    arguments = parser.parse_args()
    failures = passed_candidates = 0
    with tempfile.TemporaryDirectory() as scratch:
        for row in map(json.loads, arguments.rows.read_text().splitlines()):
            key = (row["level"], row["problem_id"])
            if key not in SETTINGS:
                print(f"{key}: no sizes for it here")
                continue
            own = pathlib.Path(scratch) / "reference.py"
            own.write_text(row["code"] + "\n\nclass ModelNew(Model):\n    pass\n")
            ours = sorted((root / "bench/kernelbench").glob(f"level{key[0]}_{key[1]}.*"))
            for candidate, verdict in zip([own, *ours], judge(arguments, row, [own, *ours])):
                good = as_expected(verdict, SETTINGS[key][1])
                failures += not good
                passed_candidates += good and candidate != own and verdict["outcome"] == "passed"
                print(f"{'ok  ' if good else 'FAIL'} level {key[0]} problem {key[1]:3} {candidate.name:16} {line_of(verdict)}", flush=True)
    print(f"{failures} not as expected; {passed_candidates} candidates of ours passed")
    sys.exit(1 if failures or passed_candidates < 6 else 0)


if __name__ == "__main__":
    main()
