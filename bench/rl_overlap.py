#!/usr/bin/env python3
"""What does it save that judging overlaps with sampling and training? Steps of kernelwright rl on one core, with an environment in
another process that judges one answer after the other and takes about as long for a step as sampling and training together. Runs with
max_staleness 0 and more take turns.
usage: bench/rl_overlap.py KERNELWRIGHT_TRAIN [--staleness 0 1 2] [--rounds N] [--steps N] [--exclusive]
  --exclusive: the environment times its answers: sampling and training stand still while it judges"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PARTS = ("step_seconds", "sample_seconds", "train_seconds", "wait_seconds", "still_seconds", "judge_seconds", "overlap_seconds")
LEFT_OUT = 3  # first steps: the pipeline fills


def steps_of(arguments, folder, seconds, staleness):
    settings = {"model": str(ROOT / "configs/tiny_model"), "new_weights": True, "run": str(folder), "threads": 1, "device": "cpu", "steps": arguments.steps,
                "program": str(ROOT / "tests/train/scripted_environment.py"), "prompts": 4, "samples": 8, "answer_tokens": 8, "max_tokens": 64, "updates": 1,
                "judges": 8, "learning_rate": 1e-3, "save_every": 1000, "max_staleness": staleness, "correction": "decoupled", "importance": "token"}
    environment = {"kind": "scripted", "seconds": seconds, "exclusive": arguments.exclusive}
    lines = ["[rl]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
    lines += ["[environment]", *(f"{key} = {json.dumps(value)}" for key, value in environment.items())]
    config = folder.with_suffix(".toml")
    config.write_text("\n".join(lines) + "\n")
    subprocess.run([arguments.train, "rl", "--config", str(config)], check=True, capture_output=True, timeout=600)
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()][LEFT_OUT:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("train")
    parser.add_argument("--staleness", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=13)
    parser.add_argument("--exclusive", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        lines = steps_of(arguments, work / "calibration", 0, 0)
        busy = statistics.median(line["sample_seconds"] + line["train_seconds"] for line in lines)
        seconds = busy / lines[0]["episodes"]
        print(f"sampling and training take {busy:.3f} s a step; {lines[0]['episodes']} answers of {seconds * 1000:.2f} ms each are judged")
        found = {staleness: [] for staleness in arguments.staleness}
        for turn in range(arguments.rounds):
            for staleness in arguments.staleness:
                found[staleness] += steps_of(arguments, work / f"{turn}-{staleness}", seconds, staleness)
    medians = {}
    for staleness, lines in found.items():
        all_steps = sorted(line["step_seconds"] for line in lines)
        medians[staleness] = statistics.median(all_steps)
        print(f"max_staleness {staleness}: {len(all_steps)} steps, a step {medians[staleness]:.3f} s ({all_steps[len(all_steps) // 10]:.3f} to "
              f"{all_steps[-1 - len(all_steps) // 10]:.3f}); medians " + ", ".join(f"{part[:-8]} {statistics.median(line[part] for line in lines):.3f}" for part in PARTS[1:]))
    first = arguments.staleness[0]
    for staleness in arguments.staleness[1:]:
        print(f"max_staleness {staleness} against {first}: {medians[first] / medians[staleness]:.2f} times as many steps")


if __name__ == "__main__":
    main()
