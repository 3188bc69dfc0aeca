#!/usr/bin/env python3
"""Does reinforcement learning on the plan policy make kernels faster on problems that it has not seen?
Makes a model that writes random plans (SFT), trains it with configs/rl_plans.toml once a seed, and compares the rewards of held-out problems
before and after: paired by problem, the same random numbers, with a bootstrapped 95 % interval over problems.
usage: bench/rl_plans.py FOLDER [--tiny] [--seconds S] [--seeds N ...] [--sft-seconds S] [--set KEY=VALUE ...] [--held-out PROBLEM ...]
  --trainer PROGRAM, --environment PROGRAM: built ones; without them ./kernelwright builds both
  --tiny: four held-out problems, 30 s of steps and a start model of 40 s, to see that all of it runs
  --tuned: then the writer's own tuner on the held-out problems, with as many judgements as the first seed had
FOLDER/result.json has all numbers. A folder that was begun goes on: a start model that is there is not made again, and runs resume.
Each seed judges its kernels of training problems itself. Verdicts of held-out problems are shared, by seeds and by both evaluations."""

import argparse
import json
import pathlib
import random
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
HELD_OUT = ["matmul_transposed", "batched_matmul", "linear_leaky_relu_sum", "max_rows", "softmax", "rms_norm", "conv2d", "min_columns", "relu", "gelu", "silu",
            "add", "softmax_columns", "log_softmax", "logsumexp", "l2_normalize", "group_norm", "matmul_square", "matmul_irregular", "matmul_bias_gelu",
            "conv2d_strided", "conv2d_pointwise", "avg_pool2d", "global_avg_pool", "sum_squares_rows", "variance", "prod_rows", "swiglu", "layer_norm_linear",
            "depthwise_conv2d", "residual_layer_norm", "mse_loss"]
TINY = ["max_rows", "relu", "matmul_transposed", "min_columns"]


class Programs:
    def __init__(self, arguments):
        self.given = arguments.trainer
        self.environment = arguments.environment or ROOT / "build/dev/bin/kernelwright-environment"

    def train(self, command, *settings, resume=False):
        words = [word for setting in settings for word in ("--set", setting)]
        config = ROOT / ("configs/rl_plans.toml" if command == "rl" else "configs/sft_tiny.toml")
        first = [self.given, command] if self.given else [ROOT / "kernelwright", command]
        program = [f"program={self.environment}"] if self.given and command == "rl" else []
        subprocess.run([str(word) for word in (*first, "--config", config, *words, *(w for p in program for w in ("--set", p)), *(["--resume"] if resume else []))],
                       check=True, cwd=ROOT, timeout=7200)

    def write(self, path, *words):
        """What the environment's program prints goes to the file, which is there when all of it is."""
        part = path.with_suffix(".part")
        with part.open("w") as out:
            subprocess.run([self.environment, *map(str, words)], check=True, stdout=out, cwd=ROOT, timeout=7200)
        part.rename(path)


def checkpoint_of(folder):
    done = sorted(path.parent for path in (folder / "checkpoints").glob("step-*/DONE"))
    return done[-1] if done else None


def start_model(programs, folder, environment, seconds, rows):
    """The folder of a model that has learnt random plans of the training problems and the held-out ones' prompts."""
    if not checkpoint_of(folder / "sft"):
        programs.write(folder / "rows.jsonl", "rows", json.dumps(environment), rows, 1)
        programs.train("sft", f"data={folder / 'rows.jsonl'}", "validation=", f"run={folder / 'sft'}", "max_tokens=256", "step_tokens=4096",
                       "micro_tokens=4096", f"seconds={seconds}", "threads=1")
    return checkpoint_of(folder / "sft")


def interval(gains, seed=0):
    rng = random.Random(seed)
    means = sorted(sum(rng.choices(gains, k=len(gains))) / len(gains) for _ in range(10000))
    return means[250], means[9750]


def tasks_of(row):
    return {task: value["reward"] for task, value in row["tasks"].items() if value["reward"] is not None}


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep_held_out(verdicts, held_out, shared):
    """Writes the verdicts of held-out problems where the next seed finds them; returns how many kernels of the others were judged."""
    rows = rows_of(verdicts)
    kept = {row["key"]: row for row in rows_of(shared) + [row for row in rows if row["verdict"]["problem"]["name"] in held_out]}
    shared.write_text("".join(json.dumps(row) + "\n" for row in kept.values()))
    return sum(row["verdict"]["problem"]["name"] not in held_out for row in rows)


def one_seed(programs, folder, begin, problems, held_out, seed, arguments):
    run, verdicts, shared = folder / f"rl-{seed}", folder / f"verdicts-{seed}.jsonl", folder / "held_out.jsonl"
    if len(rows_of(run / "evaluations.jsonl")) < 2:
        if not verdicts.exists():
            verdicts.write_text(shared.read_text() if shared.exists() else "")
        programs.train("rl", f"environment.problems={json.dumps(problems)}", f"held_out={json.dumps(held_out)}", "eval_every=100000",
                       f"eval_samples={arguments.eval_samples}", "eval_temperature=1", f"model={begin}", f"run={run}", f"seed={seed}",
                       f"seconds={arguments.seconds}", "save_every=10", "sample_rows=12", f"environment.verdicts={verdicts}", *arguments.set,
                       resume=bool(checkpoint_of(run)))
    judged = keep_held_out(verdicts, held_out, shared)
    evaluations, steps = rows_of(run / "evaluations.jsonl"), rows_of(run / "metrics.jsonl")
    before, after = tasks_of(evaluations[0]), tasks_of(evaluations[-1])
    tasks = sorted(before.keys() & after.keys())
    gains = [after[task] - before[task] for task in tasks]
    low, high = interval(gains)
    first, last = steps[:5], steps[-5:]
    out = {"seed": seed, "held_out": len(gains), "before": sum(before[t] for t in tasks) / len(tasks), "after": sum(after[t] for t in tasks) / len(tasks),
           "gain": sum(gains) / len(gains), "interval": [low, high], "steps": len(steps), "answers": sum(step["episodes"] for step in steps),
           "judged": judged, "training_seconds": sum(step["step_seconds"] for step in steps),
           "training_reward": [sum(step["reward"] for step in part) / len(part) for part in (first, last)],
           "entropy": [next((step["entropy"] for step in part if step["entropy"] is not None), None) for part in (first, last)],
           "measurement_share": sum(step["measurement_share"] for step in steps) / len(steps),
           "advantage_zero": sum(step["advantage_zero"] for step in steps) / len(steps),
           "distinct": sum(step["distinct"] for step in steps) / len(steps),
           "seconds": {key: sum(step[f"{key}_seconds"] for step in steps) for key in ("sample", "judge", "train", "evaluate")},
           "tasks": {task: [before[task], after[task]] for task in tasks}}
    for task in tasks:
        print(f"{task:32} {before[task]:8.3f} {after[task]:8.3f}")
    print(f"seed {seed}: mean log-speedup of held-out problems, failures at -log(20): {out['before']:+.3f} to {out['after']:+.3f}, "
          f"{out['gain']:+.3f} ({low:+.3f} to {high:+.3f}, 95 %, {len(gains)} problems)", flush=True)
    return out


def with_tuner(programs, folder, environment, run, arguments):
    """The tuner sees each held-out problem, which the policy does not. Its judgements are those of the training, dealt out to the problems."""
    count, path = max(1, round(run["judged"] / len(arguments.held_out))), folder / "tuned.jsonl"
    if not path.exists():
        held_out = {**environment, "problems": [f"problems/{name}" for name in arguments.held_out], "verdicts": str(folder / "held_out.jsonl")}
        programs.write(path, "tuned", json.dumps(held_out), count)
    rows = {row["task"]: [reward for reward in row["rewards"] if reward is not None] for row in rows_of(path)}
    both = [(task, rewards[0], max(rewards), run["tasks"][task][1]) for task, rewards in rows.items() if rewards and task in run["tasks"]]
    out = {"problems": len(both), "judgements_a_problem": count}
    for place, name in enumerate(("usual", "tuned", "policy"), 1):
        out[name] = sum(one[place] for one in both) / len(both)
    out["policy_over_tuned"] = interval([one[3] - one[2] for one in both])
    print(f"{len(both)} held-out problems, mean log-speedup: first plan of the tuner {out['usual']:+.3f}, best of {count} {out['tuned']:+.3f}, "
          f"policy {out['policy']:+.3f}", flush=True)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--eval-samples", type=int, default=2)
    parser.add_argument("--set", nargs="+", default=[])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sft-seconds", type=int, default=100)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--held-out", nargs="+", default=HELD_OUT)
    parser.add_argument("--trainer", type=pathlib.Path)
    parser.add_argument("--environment", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.tiny:
        arguments.seconds, arguments.seeds, arguments.sft_seconds, arguments.rows, arguments.held_out = 30, [0], 40, 2000, TINY
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    programs = Programs(arguments)
    if not arguments.environment:
        subprocess.run(["tools/setup.sh", "environment", ROOT / ".venv/bin/python"], check=True, cwd=ROOT)
    environment = tomllib.loads((ROOT / "configs/rl_plans.toml").read_text())["environment"]
    problems = environment["problems"] + [f"problems/{name}" for name in arguments.held_out]
    begin = start_model(programs, folder, {**environment, "problems": problems}, arguments.sft_seconds, arguments.rows)
    runs = [one_seed(programs, folder, begin, problems, arguments.held_out, seed, arguments) for seed in arguments.seeds]
    tuned = with_tuner(programs, folder, environment, runs[0], arguments) if arguments.tuned else None
    (folder / "result.json").write_text(json.dumps({"seeds": runs, "tuned": tuned}, indent=1) + "\n")


if __name__ == "__main__":
    main()
