"""kernelwright-train rl on the toy: that it learns, goes on after kill -9 to the bit, and replays its record.
Evaluations change nothing of it.
usage: rl_test.py KERNELWRIGHT_TRAIN [--long]: with --long each recipe runs with three seeds"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]
MARGIN = 0.2  # the mean reward of the last five steps is at least so much over that of the first five
RECIPES = {"grpo": ["estimator=grpo", "loss=ppo", "updates=1"],
           "rloo": ["estimator=rloo", "loss=reinforce", "updates=1"],
           "ppo-clip": ["estimator=grpo", "loss=ppo", "updates=4"],
           "trloo": ["estimator=trloo", "loss=reinforce", "updates=1", "turns=2", "max_tokens=192"],
           "gspo": ["estimator=grpo", "loss=gspo", "updates=2", "aggregation=sequence_mean", "clip_low=0.03", "clip_high=0.03"],
           "stale": ["estimator=grpo", "loss=ppo", "updates=1", "max_staleness=1", "correction=decoupled", "importance=token", "samples=8", "answer_tokens=8",
                     "learning_rate=2e-3", "steps=16"],
           "muon": ["estimator=grpo", "loss=ppo", "updates=2", "optimizer=muon"],
           "lora": ["estimator=grpo", "loss=ppo", "updates=2", "lora_rank=8", "learning_rate=2e-2"],
           "top-p": ["estimator=grpo", "loss=ppo", "updates=2", "top_p=0.9"],
           "cispo": ["estimator=dr_grpo", "loss=cispo", "updates=2", "kl=k3", "kl_coefficient=0.001"]}


def command(run, *extra):
    words = [word for one in (f"run={run}", f"model={ROOT / 'configs/tiny_model'}", "threads=1", "device=cpu", *extra) if "=" in one for word in ("--set", one)]
    return [PROGRAM, "rl", "--config", str(ROOT / "configs/rl_toy.toml"), *words, *(one for one in extra if "=" not in one)]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return pathlib.Path(done.stdout.strip())


def refused(words, *parts):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, (done.returncode, done.stderr[-500:])
    for part in parts:
        assert part in done.stderr, (part, done.stderr[-500:])


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def rise(lines):
    rewards = [line["reward"] for line in lines]
    return sum(rewards[-5:]) / 5 - sum(rewards[:5]) / 5


def check_learning(work, name, seed):
    folder = work / f"{name}-{seed}"
    begin = time.monotonic()
    run(*command(folder, *RECIPES[name], f"seed={seed}"))
    lines = metrics(folder)
    steps = int(next((word.removeprefix("steps=") for word in RECIPES[name] if word.startswith("steps=")), 40))
    assert len(lines) == steps, len(lines)
    gained = rise(lines)
    assert gained >= MARGIN, f"{name}: the reward rose by {gained:.3f} only"
    learnt = [line for line in lines if line["updates"] > 0]
    assert all(line["without_reward"] == 0 for line in lines)
    if name == "stale":
        assert [line["staleness"] for line in lines] == [0] + [1] * (steps - 1)
        assert any(line["mismatch_largest"] > 1e-3 for line in learnt), "the weights of the step before draw as these"
    else:
        assert all(line["mismatch_largest"] < 1e-3 for line in learnt), "the sampler's numbers are not the trainer's"
    if name == "ppo-clip":
        assert any(line["clip_share"] > 0 for line in learnt), "nothing was ever clipped"
    if name == "cispo":
        assert learnt[0]["kl"] < learnt[-1]["kl"]
    print(f"{name}, seed {seed}: {lines[0]['reward']:.3f} to {lines[-1]['reward']:.3f}, entropy {learnt[0]['entropy']:.2f} to "
          f"{learnt[-1]['entropy']:.2f}, {time.monotonic() - begin:.1f} s")


def check_teacher(work):
    """A model that has learnt the toy teaches one that has not: no reward is used."""
    teacher = sorted((work / "grpo-0/checkpoints").glob("step-*"))[-1]
    folder = work / "taught"
    run(*command(folder, "estimator=none", "loss=reinforce", "updates=1", f"teacher={teacher}", "steps=25"))
    lines = metrics(folder)
    gained = rise(lines)
    assert gained >= MARGIN, f"the reward rose by {gained:.3f} only"
    assert lines[-1]["teacher_kl"] < 0.3 * lines[0]["teacher_kl"], [line["teacher_kl"] for line in lines]
    assert all(line["advantage"] == 0 for line in lines)
    exact = work / "taught-exactly"
    run(*command(exact, "estimator=none", f"teacher={teacher}", "teacher_divergence=reverse", "teacher_top_k=16", "steps=12"))
    taught = metrics(exact)
    assert taught[-1]["teacher_kl"] < 0.3 * taught[0]["teacher_kl"], [line["teacher_kl"] for line in taught]
    assert taught[-1]["loss"] < 0.3 * taught[0]["loss"], [line["loss"] for line in taught]
    refused(command(work / "none", f"teacher={teacher}", "estimator=none", "teacher_divergence=forward", "teacher_top_k=999"), "teacher_top_k: 999 is over")
    refused(command(work / "none", f"teacher={teacher}", "teacher_divergence=forward"), "teacher_divergence", "estimator=none")
    print(f"teacher, whole distributions: KL {taught[0]['teacher_kl']:.3f} to {taught[-1]['teacher_kl']:.3f} nats a token in {len(taught)} steps")
    plan = run(*command(work / "none", f"teacher={teacher}", "estimator=none", "--plan"))
    assert "reference's weights" in str(plan), plan
    foreign = work / "foreign"
    shutil.copytree(ROOT / "configs/tiny_model", foreign)
    config = json.loads((foreign / "config.json").read_text())
    (foreign / "config.json").write_text(json.dumps({**config, "vocab_size": config["vocab_size"] + 1}))
    run(*command(work / "foreign-run", f"model={foreign}", "steps=1"))
    other = sorted((work / "foreign-run/checkpoints").glob("step-*"))[-1]
    refused(command(work / "none", f"teacher={other}", "estimator=none"), "teacher", "the same tokens")
    refused(command(work / "none", f"teacher={work / 'nowhere'}"), "teacher", "nowhere")
    refused(command(work / "none", f"teacher={teacher}", "kl=k3"), "teacher", "kl")
    refused(command(work / "none", f"teacher={teacher}", "top_p=0.9"), "teacher", "top_p")
    refused(command(work / "none", "estimator=none"), "estimator", "teacher")
    print(f"teacher: reward {lines[0]['reward']:.3f} to {lines[-1]['reward']:.3f}, KL to the teacher {lines[0]['teacher_kl']:.3f} to "
          f"{lines[-1]['teacher_kl']:.3f} nats a token")


EVALUATION = ['held_out=["o","z"]', "eval_every=3", "eval_samples=2", "eval_temperature=0.7"]
SHORT = ["steps=8", "save_every=1", "keep=3", "samples=4", "prompts=3", "toy_bytes=exoz", 'held_out=["o","z"]', "answer_tokens=6"]
STABLE = ("step", "reward", "advantage", "loss", "gradient_norm", "entropy", "clip_share", "mismatch_k1", "trained_tokens")


def rows(folder, name):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def evaluated(folder):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows(folder, "evaluations.jsonl")]


def decided(folder):
    return [{key: line[key] for key in STABLE} for line in metrics(folder)]


def weights(folder):
    return {name: (folder / "checkpoints/step-000008" / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")}


AHEAD = ["samples=2", "prompts=2", "turns=2", "max_tokens=96", "answer_tokens=3", "max_staleness=2", "correction=decoupled", "importance=token"]


def check_resume(work, prefix="", more=()):
    """Whole, and in parts with kill -9 between them. more: settings."""
    whole, killed = work / f"{prefix}whole", work / f"{prefix}killed"
    run(*command(whole, *SHORT, *more, *EVALUATION))
    for attempt in range(20):
        resume = ["--resume"] if list(killed.glob("checkpoints/step-*/DONE")) else []
        process = subprocess.Popen(command(killed, *SHORT, *more, *EVALUATION, *resume), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if attempt < 4:
            before, deadline = {path.name for path in killed.glob("checkpoints/*")}, time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline and {path.name for path in killed.glob("checkpoints/*")} <= before:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            continue
        errors = process.communicate()[1]
        assert process.returncode == 0, errors[-2000:]
        break
    assert decided(killed) == decided(whole), "the resumed run decides otherwise"
    assert weights(killed) == weights(whole), "the resumed run has other weights"
    assert evaluated(killed) == evaluated(whole), "the resumed run evaluates otherwise"
    assert rows(killed, "samples.jsonl") == rows(whole, "samples.jsonl"), "the resumed run shows other samples"
    print(f"{prefix}resume: equal to the bit after kill -9")


def check_evaluation(work):
    whole, plain = work / "whole", work / "plain"
    run(*command(plain, *SHORT))
    assert decided(whole) == decided(plain) and weights(whole) == weights(plain), "an evaluation changes the training"
    found = evaluated(whole)
    assert [row["step"] for row in found] == [0, 3, 6, 8], found
    assert all(row["episodes"] == 4 and set(row["tasks"]) == {"o", "z"} and row["correct"] is None for row in found)
    assert {row["task"] for row in rows(work / "whole", "samples.jsonl")} == {"e", "x"}, "a held-out task was trained on"
    answers = [row for row in rows(work / "whole", "episodes.jsonl") if "answer" in row]
    assert sorted(row["answer"]["versions"][0] for row in answers if row["task"] == "z") == [0, 0, 3, 3, 6, 6, 8, 8]


def check_samples(work):
    """They are some of the record's answers, with what they were paid; advantages follow rewards."""
    shown = rows(work / "whole", "samples.jsonl")
    assert len(shown) == 8 * 4 and [row["step"] for row in shown] == sorted(row["step"] for row in shown)
    recorded = {(row["answer"]["versions"][0] + 1, row["task"], row["answer"]["text"], row["reward"])
                for row in rows(work / "whole", "episodes.jsonl") if "answer" in row}
    assert all((row["step"], row["task"], row["text"], row["reward"]) in recorded for row in shown)
    learnt = [row for row in shown if row["advantage"] is not None]
    assert learnt and any(row["advantage"] > 0 for row in learnt) and any(row["advantage"] < 0 for row in learnt)
    for line in metrics(work / "whole"):
        assert 0 <= line["advantage_zero"] <= 1 and 0 < line["distinct"] <= 1 and line["judges_busy"] <= 1
        assert line["trained_tokens"] == 0 or line["trained_per_second"] > 0
        assert line["staleness"] == 0 and line["sample_seconds"] + line["wait_seconds"] + line["train_seconds"] <= line["step_seconds"]
    print("evaluation and samples: right")


def check_record(work):
    """The recorded environment says the same, and nothing about answers that it has not."""
    whole, replayed = work / "whole", work / "replayed"
    record = ["environment=recorded", f"records={whole / 'episodes.jsonl'}"]
    run(*command(replayed, *SHORT, *EVALUATION, *record))
    assert weights(replayed) == weights(whole), "a replay has other weights"
    steps = [row for row in rows(replayed, "episodes.jsonl") if "answer" in row and row["task"] in "ex"]
    assert len(steps) == 8 * 3 * 4 and {row["answer"]["versions"][0] for row in steps} == set(range(8))
    assert all(len(row["answer"]["tokens"]) == len(row["answer"]["logprobs"]) for row in steps)
    refused(command(work / "other", *SHORT, *record, "seed=1"), "no episode has a reward", "the record has no such answer")
    print("record: equal to the bit")


def check_plan(work):
    done = subprocess.run(command(work / "planned", *SHORT, *EVALUATION, "--plan"), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not (work / "planned").exists(), done.stderr[-500:]
    lines = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines() if "  " in line)
    assert lines["answers of a step"] == "12" and lines["evaluations"] == "4", done.stdout
    print("plan: right")


def check_seconds(work):
    """A run whose time is over ends after its step, with an evaluation and a checkpoint; with more time it goes on."""
    short = work / "short"
    assert run(*command(short, *SHORT, *EVALUATION, "seconds=0.0001")).name == "step-000001"
    assert [row["step"] for row in evaluated(short)] == [0, 1], evaluated(short)
    assert run(*command(short, *SHORT, *EVALUATION, "--resume")).name == "step-000008"
    print("seconds: right")


def check_events(work):
    """TensorBoard reads what metrics.jsonl and evaluations.jsonl say, over kills and resumes."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        print("events: tensorboard is not installed")
        return
    for name in ("whole", "killed"):
        read = EventAccumulator(str(work / name), size_guidance={"scalars": 0}).Reload()
        for key in ("reward", "trained_tokens", "gradient_norm", "mismatch_largest"):
            got = [(one.step, one.value) for one in read.Scalars(key)]
            want = [(line["step"], line[key]) for line in metrics(work / name) if line[key] is not None]
            assert [step for step, _ in got] == [step for step, _ in want], (name, key, got)
            assert all(abs(a - b) <= 1e-6 * max(1, abs(b)) for (_, a), (_, b) in zip(got, want)), (name, key)
        assert [one.step for one in read.Scalars("held_out/reward")] == [0, 3, 6, 8], name
    print("events: as TensorBoard reads them")


def check_refusals(work):
    whole = work / "whole"
    refused(command(whole, *SHORT), "has checkpoints", "--resume")
    refused(command(whole, *SHORT, "--resume", "samples=5"), "samples: differs")
    refused(command(work / "none", *SHORT, "--resume"), "no checkpoint")
    refused(command(work / "none", 'held_out=["q"]'), "held_out", "q")
    refused(command(work / "none", "estimatr=grpo"), "estimatr", "estimator")
    refused(command(work / "none", "max_staleness=1"), "max_staleness", "correction=decoupled")
    refused(command(work / "none", "max_tokens=5"), "max_tokens", "leaves no room")
    refused(command(work / "none", "max_tokens=5000"), "max_position_embeddings")
    print("refusals: right")


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    long = "--long" in sys.argv[2:]
    for recipe in RECIPES if long else ("grpo", "rloo", "ppo-clip", "stale"):
        for number in range(3 if long else 1):
            check_learning(folder, recipe, number)
    check_teacher(folder)
    check_resume(folder)
    check_resume(folder, "ahead-", AHEAD)
    check_evaluation(folder)
    check_samples(folder)
    check_events(folder)
    check_record(folder)
    check_plan(folder)
    check_seconds(folder)
    check_refusals(folder)
