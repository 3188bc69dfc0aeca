"""kernelwright-train sft and distill with several ranks beside one: weights, resume, and the end of a rank.
usage: ranks_test.py KERNELWRIGHT_TRAIN; exit 77: this build has no libkw_gloo.so."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "service"))
from ports import own_port  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
if not (PROGRAM.parent / "libkw_gloo.so").exists():
    print("no libkw_gloo.so, as libgloo-dev was not there: skipped")
    sys.exit(77)
STEPS = 6
LONG = 120
# Of metrics, relative, and of weights and state over the largest number of their tensor.
WIDE, NARROW = (2e-5, 1e-3), (5e-3, 2e-2)
TINY = pathlib.Path(__file__).resolve().parents[2] / "configs/tiny_model"


def make_rows(path):
    generator = random.Random(5)
    rows = [{"text": " ".join(generator.choice(["one", "two", "three"]) for _ in range(generator.randrange(2, 14)))} for _ in range(60)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def command(work, run, *extra, which="sft"):
    settings = {"model": TINY, "new_weights": "true", "run": run, "data": work / "rows.jsonl", "max_tokens": 128, "step_tokens": 400, "micro_tokens": 128,
                "steps": STEPS, "learning_rate": 1e-3, "schedule": "linear", "weight_decay": 0.1, "max_norm": 0.5, "device": "cpu", "dtype": "float32",
                "threads": 1, "save_every": 3, "keep": 0, "validation": work / "rows.jsonl", "validation_rows": 9, "validate_every": 3, "rank_seconds": 60}
    settings.update(dict(word.split("=", 1) for word in extra if "=" in word))
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [str(PROGRAM), which, *words, *(word for word in extra if "=" not in word)]


def run(words, env=None):
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONG, env={**os.environ, **(env or {})})
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return done


def last_of(done):
    return pathlib.Path(done.stdout.strip())


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def distance(a, b, file):
    """The largest difference over the largest number, of every tensor of the file."""
    one, other = (load_file(folder / file) for folder in (a, b))
    assert one.keys() == other.keys() and all(one[name].shape == other[name].shape for name in one)
    return max(((one[name].double() - other[name].double()).abs().max() / one[name].abs().max().clamp_min(1e-30)).item() for name in one)


def check_same(one, other, tolerance):
    """Two runs of the same steps: metrics, weights and the optimizer's state."""
    worst = 0
    for a, b in zip(metrics(one.parents[1]), metrics(other.parents[1]), strict=True):
        assert a["tokens"] == b["tokens"] and a["weight"] == b["weight"], (a, b)
        for key in ("loss", "gradient_norm", "validation_loss", "validation_nats_per_byte", "divergence", "validation_divergence"):
            if key in a:
                worst = max(worst, abs(a[key] - b[key]) / abs(a[key]))
    apart = [distance(one, other, file) for file in ("model.safetensors", "optimizer.safetensors")]
    assert worst < tolerance[0] and max(apart) < tolerance[1], (worst, apart)
    return f"metrics {worst:.1e}, weights {apart[0]:.1e}, state {apart[1]:.1e}"


def check_equal(work, name, *extra, which="sft", ranks=(2,), tolerance=WIDE):
    one = last_of(run(command(work, work / f"{name}-1", *extra, which=which)))
    for count in ranks:
        done = run(command(work, work / f"{name}-{count}", "--ranks", str(count), *extra, which=which))
        assert done.stdout.count("\n") == 1 and done.stderr.count("step 1 ") == 1, "more than rank 0 printed"
        print(f"{name}, {count} ranks beside one:", check_same(one, last_of(done), tolerance))
    return one


def check_resume(work, name, whole, *extra, tolerance=WIDE):
    """A run of two ranks goes on with one, and the other way round."""
    for before, after in ((2, 1), (1, 2)):
        folder = work / f"{name}-resumed-{before}-{after}"
        shutil.copytree(work / f"{name}-{before}", folder)
        shutil.rmtree(folder / "checkpoints" / f"step-{STEPS:06}")
        done = run(command(work, folder, *extra, "--resume", "--ranks", str(after)))
        assert "going on from" in done.stderr
        print(f"{name} resumed, {before} to {after} ranks:", check_same(whole, last_of(done), tolerance))
    again = work / f"{name}-resumed-2-2"
    shutil.copytree(work / f"{name}-2", again)
    shutil.rmtree(again / "checkpoints" / f"step-{STEPS:06}")
    last = last_of(run(command(work, again, *extra, "--resume", "--ranks", "2")))
    for file in ("model.safetensors", "optimizer.safetensors"):
        want = work / f"{name}-2" / "checkpoints" / last.name / file
        assert (last / file).read_bytes() == want.read_bytes(), f"{file}: two ranks resumed differ from two that were not interrupted"


def rl_command(folder, *extra):
    settings = {"model": TINY, "run": folder, "steps": 4, "save_every": 2, "keep": 0, "prompts": 3, "samples": 6, "seed": 3, "device": "cpu",
                "toy_bytes": "exoz", "held_out": '["o","z"]', "eval_every": 2, "eval_samples": 3, "rank_seconds": 60}
    settings.update(dict(word.split("=", 1) for word in extra if "=" in word))
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [str(PROGRAM), "rl", "--config", str(TINY.parent / "rl_toy.toml"), *words, *(word for word in extra if "=" not in word)]


def rl_files(folder):
    """What a run has sampled, and its steps."""
    episodes = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    return episodes, metrics(folder)


RL_SAME = ("reward", "loss", "policy_loss", "gradient_norm", "entropy", "clip_share", "mismatch_k1", "mismatch_k3", "mismatch_largest")


def check_same_rl(one, other, tolerance, steps):
    """The episodes of the first steps are the same to the bit, and the numbers of all steps alike."""
    (episodes, rows), (others, other_rows) = rl_files(one), rl_files(other)
    first = rows[0]["episodes_bytes"]
    assert (one / "episodes.jsonl").read_bytes()[:first] == (other / "episodes.jsonl").read_bytes()[:first], "the first step's episodes differ"
    assert (len(episodes), len(rows), steps) == (len(others), len(other_rows), len(rows)), (len(episodes), len(others), len(rows), len(other_rows))
    worst = 0
    for a, b in zip(rows, other_rows, strict=True):
        assert a["episodes"] == b["episodes"] and a["updates"] == b["updates"], (a, b)
        for key in RL_SAME:
            if a.get(key):
                worst = max(worst, abs(a[key] - b[key]) / max(abs(a[key]), 1e-3))
    assert worst < tolerance, worst
    evaluations = [[json.loads(line) for line in (folder / "evaluations.jsonl").read_text().splitlines()] for folder in (one, other)]
    assert [row["step"] for row in evaluations[0]] == [row["step"] for row in evaluations[1]] == [0, 2, 4], evaluations
    assert evaluations[0][0]["reward"] == evaluations[1][0]["reward"], evaluations
    return f"numbers differ by {worst:.1e} of themselves"


def check_rl(work):
    """Every rank plays its share, and all together learn what one does."""
    for name, extra in (("toy", ()), ("ahead", ("max_staleness=1", "correction=decoupled", "importance=token")), ("sequences", ("loss=gspo", "updates=1"))):
        one, two = work / f"rl-{name}-1", work / f"rl-{name}-2"
        run(rl_command(one, *extra))
        done = run(rl_command(two, "--ranks", "2", *extra))
        assert done.stdout.count("\n") == 1 and done.stderr.count("step 1 ") == 1, "more than rank 0 printed"
        print(f"rl, {name}, 2 ranks beside one:", check_same_rl(one, two, 1e-3, 4))
    again = work / "rl-ahead-again"
    shutil.copytree(work / "rl-ahead-2", again)
    shutil.rmtree(again / "checkpoints" / "step-000004")
    run(rl_command(again, "--ranks", "2", "--resume", "max_staleness=1", "correction=decoupled", "importance=token"))
    for file in ("model.safetensors", "optimizer.safetensors"):
        want, got = ((folder / "checkpoints/step-000004" / file).read_bytes() for folder in (work / "rl-ahead-2", again))
        assert want == got, f"{file}: two ranks resumed differ from two that were not interrupted"
    other = work / "rl-ahead-3"
    shutil.copytree(work / "rl-ahead-2", other)
    shutil.rmtree(other / "checkpoints" / "step-000004")
    run(rl_command(other, "--ranks", "3", "--resume", "max_staleness=1", "correction=decoupled", "importance=token"))
    print("rl, resumed by three ranks:", check_same_rl(work / "rl-ahead-1", other, 1e-3, 4))
    victim, port = work / "rl-death", own_port()
    ranks = [start_rank(rl_command(victim, "steps=100000", "eval_every=0"), rank, 2, port) for rank in range(2)]
    wait_for_step(victim, 2)
    ranks[1].send_signal(signal.SIGKILL)
    ends = ends_of(ranks)
    assert ends[0][0] == 2 and "rank 1: its process ended without a word" in errors_in(ends)[0], ends
    print("rl, death of a rank: all end")


def start_rank(words, rank, size, port):
    env = {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return subprocess.Popen(words, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ends_of(ranks):
    """Exit status and stderr of each; a hang is a failure."""
    out = []
    for one in ranks:
        _, errors = one.communicate(timeout=LONG)
        out.append((one.returncode, errors))
    return out


def errors_in(ends):
    return [line for _, text in ends for line in text.splitlines() if line.startswith("error: ")]


def wait_for_step(folder, step):
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        if (folder / "metrics.jsonl").exists() and len((folder / "metrics.jsonl").read_text().splitlines()) >= step:
            return
        time.sleep(0.01)
    raise AssertionError("no step was made")


def wait_for_checkpoint(folder):
    """Checkpoints are written beside the steps."""
    deadline = time.monotonic() + LONG
    while not list(folder.glob("checkpoints/step-*/DONE")):
        assert time.monotonic() < deadline, "no checkpoint was written"
        time.sleep(0.01)


def check_death(work):
    """kill -9 of any rank ends all, with one error that names it; the run goes on with fewer ranks."""
    for victim in (1, 0):
        folder, port = work / f"death-{victim}", own_port()
        words = command(work, folder, "steps=100000", "save_every=1", "keep=2", "validation=")
        ranks = [start_rank(words, rank, 3, port) for rank in range(3)]
        wait_for_step(folder, 2)
        wait_for_checkpoint(folder)
        ranks[victim].send_signal(signal.SIGKILL)
        ends = ends_of(ranks)
        errors = errors_in(ends)
        assert len(errors) == 1 and f"rank {victim}: its process ended without a word" in errors[0], ends
        assert [code for code, _ in ends] == [-9 if rank == victim else 2 for rank in range(3)], ends
        done = sorted(folder.glob("checkpoints/step-*/DONE"))
        assert done, "no checkpoint"
        step = int(done[-1].parent.name[5:])
        run(command(work, folder, "save_every=1", "keep=2", "validation=", "--resume", f"steps={step + 1}"))
    # A rank that is stopped says nothing, and nobody sees its connections close.
    folder, port = work / "stopped", own_port()
    words = command(work, folder, "steps=100000", "validation=", "rank_seconds=10")
    ranks = [start_rank(words, rank, 2, port) for rank in range(2)]
    wait_for_step(folder, 1)
    ranks[1].send_signal(signal.SIGSTOP)
    _, errors = ranks[0].communicate(timeout=LONG)
    assert ranks[0].returncode == 2 and "error: rank 1: nothing was heard of it for 10" in errors, errors
    ranks[1].send_signal(signal.SIGKILL)
    ranks[1].communicate()
    print("death of a rank: all end, with one error")


def check_refusals(work):
    folder, port = work / "other", own_port()
    ranks = [start_rank(command(work, folder, *extra), rank, 2, port) for rank, extra in enumerate(((), ("seed=7",)))]
    ends = ends_of(ranks)
    assert [code for code, _ in ends] == [2, 2] and len(errors_in(ends)) == 1, ends
    assert "seed: 7 on rank 1, and 0 on rank 0" in errors_in(ends)[0], ends
    assert not (folder / "checkpoints").exists()
    # An error of one rank alone: it reads other data.
    other = work / "elsewhere"
    other.mkdir()
    (other / "rows.jsonl").write_text('{"text": "one"}\n' * 59 + "{\n")
    ranks = []
    port = own_port()
    for rank in range(2):
        words = command(work, folder, "data=rows.jsonl", "validation=")
        env = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        ranks.append(subprocess.Popen(words, cwd=(work, other)[rank], env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    ends = ends_of(ranks)
    assert [code for code, _ in ends] == [2, 2] and len(errors_in(ends)) == 1, ends
    assert "error: rank 1: rows.jsonl" in errors_in(ends)[0], ends
    for words, env, want in ((["--ranks", "2"], {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, "already"),
                             ([], {"RANK": "2", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, "RANK: expected 0 to 1")):
        done = subprocess.run([*command(work, folder), *words], env={**os.environ, **env}, capture_output=True, text=True, timeout=LONG)
        assert done.returncode == 2 and want in done.stderr, done
    print("refusals: right")


def check_stop(work):
    """SIGTERM to the command that started the ranks: a checkpoint, and the usual exit status."""
    folder = work / "terminated"
    process = subprocess.Popen(command(work, folder, "steps=100000", "save_every=100000", "validation=", "--ranks", "2"),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_step(folder, 2)
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=LONG)
    assert process.returncode == 130 and pathlib.Path(out.strip(), "DONE").exists(), (process.returncode, errors)
    print("SIGTERM: a checkpoint")


def check_torchrun(work, whole):
    folder = work / "torchrun"
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python", "--nproc-per-node", "2", *command(work, folder)]
    print("torchrun:", check_same(whole, last_of(run(words)), WIDE))


def check_plan(work):
    def part(name, *extra):
        text = run(command(work, work / "x", "--plan", *extra)).stdout
        assert ("memory of a rank" in text) == ("--ranks" in extra)
        return " ".join(next(line for line in text.splitlines() if line.startswith(name)).split())

    for name, extra, is_less in (("moments", (), True), ("gradients", (), True), ("masters", (), False), ("masters", ("dtype=bfloat16",), True)):
        one, two = part(name, *extra), part(name, *extra, "--ranks", "2")
        assert (one != two) == is_less, (one, two)
        print("plan:", one, "to", two)


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        make_rows(work / "rows.jsonl")
        whole = check_equal(work, "adamw", ranks=(2, 4))
        check_equal(work, "muon", "optimizer=muon", ranks=(3,))
        check_equal(work, "lora", "lora_rank=4")
        check_equal(work, "distill", f"teacher={whole}", "top_k=20", "cross_entropy=0.3", which="distill")
        check_resume(work, "adamw", whole)
        # As on GPUs: masters of the shard alone, and all compute with bfloat16.
        for name, extra in (("bfloat16", ()), ("bfloat16-muon", ("optimizer=muon",))):
            narrow = check_equal(work, name, "dtype=bfloat16", *extra, ranks=(2, 3), tolerance=NARROW)
            check_resume(work, name, narrow, "dtype=bfloat16", *extra, tolerance=NARROW)
        check_torchrun(work, whole)
        check_plan(work)
        check_stop(work)
        check_death(work)
        check_refusals(work)
        check_rl(work)


main()
