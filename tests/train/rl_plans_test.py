"""kernelwright-train rl learns which plans are fast: a model that writes random plans of two problems, rewards from this machine's gym.
The plans differ by factors of ten, so wide intervals of few seconds are enough. KW_ENVIRONMENT=PROGRAM is the gym's kernelwright-environment.
usage: rl_plans_test.py KERNELWRIGHT_TRAIN [FOLDER]; exit status 77 without KW_ENVIRONMENT"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

PROGRAM, ENVIRONMENT = sys.argv[1], os.environ.get("KW_ENVIRONMENT")
ROOT = pathlib.Path(__file__).resolve().parents[2]
MARGIN = 0.6  # of log(speedup): the mean of the last steps is at least so much over that of the first ones
PROBLEMS = [str(ROOT / "problems" / name) for name in ("transpose", "mean_columns")]
SFT = ["validation=", "max_tokens=128", "step_tokens=2048", "micro_tokens=2048", "steps=90", "save_every=90", "threads=1", "device=cpu"]
RL = ["device=cpu", "prompts=2", "samples=8", "steps=40", "seconds=1200", "tries=3", "max_tokens=128", "seed=2", "environment.eval.half_width_percent=30",
      "environment.eval.max_seconds=3"]
TAKEN = 4  # steps at each end


def train(command, config, *settings):
    words = [word for one in settings for word in ("--set", one)]
    done = subprocess.run([PROGRAM, command, "--config", str(ROOT / "configs" / config), *words], capture_output=True, text=True, timeout=1500, cwd=ROOT)
    assert done.returncode == 0, f"{command}: {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout.strip()


def check(work):
    table = {**tomllib.loads((ROOT / "configs/rl_plans.toml").read_text())["environment"], "problems": PROBLEMS}
    rows = subprocess.run([ENVIRONMENT, "rows", json.dumps(table), "1500", "1"], capture_output=True, text=True, timeout=300, check=True).stdout
    (work / "rows.jsonl").write_text(rows)
    begin = train("sft", "sft_tiny.toml", f"data={work / 'rows.jsonl'}", f"run={work / 'sft'}", *SFT)
    train("rl", "rl_plans.toml", f"model={begin}", f"run={work / 'rl'}", f"program={ENVIRONMENT}", f"environment.problems={json.dumps(PROBLEMS)}", *RL)
    steps = [json.loads(line) for line in (work / "rl/metrics.jsonl").read_text().splitlines()]
    before, after = (sum(step["reward"] for step in part) / TAKEN for part in (steps[:TAKEN], steps[-TAKEN:]))
    said = f"{len(steps)} steps, mean log-speedup {before:+.2f} to {after:+.2f}, {sum(step['judge_seconds'] for step in steps):.0f} s of judging"
    assert len(steps) > 2 * TAKEN and after - before >= MARGIN, f"nothing was learnt: {said}"
    print(f"plans: {said}")


if not ENVIRONMENT:
    print("rl_plans_test: no KW_ENVIRONMENT")
    sys.exit(77)
if len(sys.argv) > 2:
    pathlib.Path(sys.argv[2]).mkdir(parents=True)
    check(pathlib.Path(sys.argv[2]))
else:
    with tempfile.TemporaryDirectory() as temporary:
        check(pathlib.Path(temporary))
