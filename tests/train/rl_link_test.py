"""kernelwright-train rl with an environment in another process: it learns, and where that process dies, stalls, refuses or answers
twice, the error says so, the run goes on with --resume, and nothing is lost or counted twice. A run that is killed goes on too, with
answers of earlier weights. With KW_ENVIRONMENT=PROGRAM, the gym's
kernelwright-environment, it plays a step of plans too.
usage: rl_link_test.py KERNELWRIGHT_TRAIN"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STABLE = ("step", "reward", "advantage", "loss", "gradient_norm", "entropy", "trained_tokens", "episodes", "without_reward", "episodes_bytes")
SETTINGS = {"threads": 1, "device": "cpu", "steps": 6, "save_every": 2, "samples": 4, "prompts": 2, "answer_tokens": 6, "max_tokens": 96, "updates": 1,
            "judges": 1, "learning_rate": 1e-3, "new_weights": True, "model": str(ROOT / "configs/tiny_model"), "program": str(HERE / "scripted_environment.py")}


def train(work, name, environment, *flags, **changes):
    config = work / f"{name}.toml"
    lines = ["[rl]", *(f"{key} = {json.dumps(value)}" for key, value in {**SETTINGS, "run": str(work / name), **changes}.items())]
    lines += ["[environment]", *(f"{key} = {json.dumps(value)}" for key, value in environment.items())]
    config.write_text("\n".join(lines) + "\n")
    return subprocess.run([PROGRAM, "rl", "--config", str(config), *flags], capture_output=True, text=True, timeout=300)


def metrics(folder):
    return [{key: json.loads(line)[key] for key in STABLE} for line in (folder / "metrics.jsonl").read_text().splitlines()]


def check_same(run, whole):
    assert metrics(run) == metrics(whole), f"{run.name}: other numbers"
    assert (run / "episodes.jsonl").read_bytes() == (whole / "episodes.jsonl").read_bytes(), f"{run.name}: an episode is lost or stands there twice"
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (run / "checkpoints/step-000006" / name).read_bytes() == (whole / "checkpoints/step-000006" / name).read_bytes(), run.name


def check_fault(work, fault, at, message, whole="whole", **changes):
    """The fault comes once, with judgement `at`; the resumed run is the one that was never interrupted."""
    name = f"{whole}-{fault}"
    environment = {"kind": "scripted", "fault": fault, "at": at, "once": str(work / f"{name}.once")}
    broken = train(work, name, environment, **changes)
    assert broken.returncode == 2, (name, broken.returncode, broken.stderr[-1000:])
    for part in (message, "--resume"):
        assert part in broken.stderr, (name, part, broken.stderr[-1000:])
    done = train(work, name, environment, "--resume", **changes)
    assert done.returncode == 0, (name, done.stderr[-1000:])
    check_same(work / name, work / whole)
    print(f"{name}: a clear error, and equal to the bit after --resume")


AHEAD = {"max_staleness": 1, "correction": "decoupled", "importance": "token", "save_every": 1}


def check_ahead(work):
    """Answers of the weights of a step before: each token says so, and judging takes its time beside sampling and training."""
    done = train(work, "ahead", {"kind": "scripted"}, **AHEAD)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in (work / "ahead/metrics.jsonl").read_text().splitlines()]
    assert [line["staleness"] for line in lines] == [0, 1, 1, 1, 1, 1] and [line["largest_staleness"] for line in lines] == [0, 1, 1, 1, 1, 1]
    assert metrics(work / "ahead") != metrics(work / "whole")
    kept = work / "ahead/checkpoints/step-000005/ahead.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [row["episode"] for row in rows] == list(range(40, 48)) and all(set(row["answer"]["versions"]) == {4} for row in rows)
    assert not (work / "ahead/checkpoints/step-000006/ahead.jsonl").exists(), "there is no later step"
    timed = train(work, "timed", {"kind": "scripted", "exclusive": True, "seconds": 0.002}, **AHEAD)
    assert timed.returncode == 0, timed.stderr[-2000:]
    check_same(work / "timed", work / "ahead")
    lines = [json.loads(line) for line in (work / "timed/metrics.jsonl").read_text().splitlines()]
    assert sum(line["still_seconds"] for line in lines) > 0, "nothing stood still"
    for line in lines:
        spent = line["sample_seconds"] + line["train_seconds"] + line["wait_seconds"] + line["still_seconds"]
        assert spent <= line["step_seconds"] and line["overlap_seconds"] <= line["judge_seconds"] <= line["step_seconds"], line
    print("ahead: one step, judged beside the rest; it stands still where the environment asks")


def check_killed(work, at):
    """kill -9 while judgement `at` is made: of an answer to its own step, or to the next one."""
    name = f"killed-{at}"
    environment = {"kind": "scripted", "fault": "kill", "at": at, "once": str(work / f"{name}.once"), "seconds": 0.002}
    killed = train(work, name, environment, **AHEAD)
    assert killed.returncode == -9, (at, killed.returncode, killed.stderr[-500:])
    resume = ["--resume"] if list((work / name).glob("checkpoints/step-*/DONE")) else []
    done = train(work, name, environment, *resume, **AHEAD)
    assert done.returncode == 0, (at, done.stderr[-1000:])
    check_same(work / name, work / "ahead")


def check_refused_answer(work):
    """A failure of the environment is no reward: the episode is left out, and the run goes on."""
    done = train(work, "refuse", {"kind": "scripted", "fault": "refuse", "at": 10, "once": str(work / "refuse.once")})
    assert done.returncode == 0, done.stderr[-1000:]
    assert [line["without_reward"] for line in metrics(work / "refuse")] == [0, 1, 0, 0, 0, 0]
    reasons = [json.loads(line)["failure"] for line in (work / "refuse/metrics.jsonl").read_text().splitlines()]
    assert reasons[0] is None and reasons[1], reasons
    print("refuse: no reward for one episode")


def check_plans(work, program):
    problems = [str(ROOT / "problems" / name) for name in ("relu", "sum_rows")]
    environment = {"kind": "plans", "problems": problems, "list_choices": False}
    done = train(work, "plans", environment, "--set", "environment.eval.max_seconds=0.5", "--set", "environment.reward.terms=[\"gated_log\"]",
                 program=program, steps=1, min_deviation=0)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in (work / "plans/episodes.jsonl").read_text().splitlines()]
    asked = [row["observation"]["messages"][0]["content"] for row in rows if "observation" in row]
    assert any(text.startswith("relu\n") for text in asked), asked
    assert all("why_not" in row["facts"] for row in rows if "answer" in row), "random bytes made a plan"
    print("plans: the gym's environment answers")


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    first = train(folder, "whole", {"kind": "scripted"})
    assert first.returncode == 0, first.stderr[-2000:]
    assert "environment: scripted" in first.stderr
    check_fault(folder, "die", 21, "the environment's process has ended")
    check_fault(folder, "twice", 5, "answers a request twice")
    check_fault(folder, "stall", 13, "has not answered for 5 s", patience_seconds=5)
    check_refused_answer(folder)
    check_ahead(folder)
    check_fault(folder, "die", 21, "the environment's process has ended", "ahead", **AHEAD)
    check_fault(folder, "twice", 29, "answers a request twice", "ahead", **AHEAD)
    for judgement in (11, 18, 23, 40):
        check_killed(folder, judgement)
    print("killed: equal to the bit after --resume")
    if "KW_ENVIRONMENT" in os.environ:
        check_plans(folder, os.environ["KW_ENVIRONMENT"])
