"""kernelwright-train with ranks on GPUs, over NCCL: sft beside one rank, with the memory that --plan says, resumed with another number of them,
and after kill -9 of a rank; rl learns the toy.
usage: ranks_gpu_test.py KERNELWRIGHT_TRAIN; exit 77: there are not two GPUs."""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import torch

from toy_model import with_heads_of_64

PROGRAM = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]
LONG = 90
RANKS = min(torch.cuda.device_count(), 4)


def command(run, *extra, **settings):
    settings = {"run": run, "steps": 30, "save_every": 15, "keep": 0, "device": "cuda", "rank_seconds": 30, **settings}
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [PROGRAM, "sft", "--config", str(ROOT / "configs/sft_tiny.toml"), *words, *extra]


def losses(run):
    return [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def trained(run, *extra, **settings):
    done = subprocess.run(command(run, *extra, **settings), capture_output=True, text=True, timeout=LONG, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    return losses(run)


def differences(one, other):
    return [abs(a - b) / max(a, one[0] / 5) for a, b in zip(one, other, strict=True)]


def check_alike(label, one, other, split=None):
    """split: one rank with other micro-batches, which rounds other sums: so far a rounding grows in these steps."""
    off = differences(one, other)
    of_rounding = differences(one, split) if split else [0]
    shown = [f"{off[i]:.0e}" for i in (0, 1, 2, 4, 9, 14, 19, len(off) - 1) if i < len(off)]
    print(f"{label}: loss {one[0]:.4f} to {one[-1]:.4f} and {other[-1]:.4f}; largest relative difference {max(off):.1e}, of roundings alone "
          f"{max(of_rounding):.1e}; over the steps {', '.join(shown)}", flush=True)
    assert off[0] < 1e-3 and max(off) < max(0.02, 2 * max(of_rounding)) and other[-1] < 0.97 * other[0], f"{label}: {off}"


def check_memory(work):
    """Memory falls from one rank to several by what --plan says."""
    model = work / "wide_model"
    shutil.copytree(ROOT / "configs/tiny_model", model)
    config = json.loads((model / "config.json").read_text())
    config.update(hidden_size=1024, num_hidden_layers=8, intermediate_size=4096)
    config.update(num_attention_heads=8, num_key_value_heads=8, head_dim=128)
    (model / "config.json").write_text(json.dumps(config))
    # Several micro-batches a rank, so that the largest one is as large whatever the number of ranks.
    settings = {"model": model, "steps": 2, "save_every": 1000, "validation": "", "micro_tokens": 128}
    planned, measured = [], []
    for count in (1, RANKS):
        run = work / f"memory-{count}"
        words = command(run, "--ranks", str(count), **settings)
        plan = subprocess.run([*words, "--plan"], capture_output=True, text=True, timeout=LONG, cwd=ROOT, check=True).stdout
        text = re.search(r"^memory (?:together|of a rank) +([0-9.]+) ([KMG])iB", plan, re.M)
        planned.append(float(text[1]) * 1024 ** " KMG".index(text[2]))
        subprocess.run(words, capture_output=True, timeout=LONG, cwd=ROOT, check=True)
        measured.append(json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["peak_bytes"])
    saved, want = measured[0] - measured[1], planned[0] - planned[1]
    in_mib = [[round(x / 2**20) for x in both] for both in (planned, measured)]
    print(f"memory of a rank, 1 and {RANKS}: planned {in_mib[0]} MiB, measured {in_mib[1]} MiB", flush=True)
    assert abs(saved - want) < 0.15 * want, (saved, want)


def check_duplicate(work):
    """NCCL wants a GPU for each rank: two on one end with its reason, soon."""
    begin = time.monotonic()
    done = subprocess.run(["env", "CUDA_VISIBLE_DEVICES=0", *command(work / "duplicate", "--ranks", "2")], capture_output=True, text=True, timeout=LONG, cwd=ROOT)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    print(f"two ranks on one GPU, after {time.monotonic() - begin:.1f} s: {done.returncode} {errors}", flush=True)
    assert done.returncode == 2 and len(errors) == 1 and "NCCL" in errors[0], done.stderr[-2000:]


def check_death(work):
    run = work / "death"
    process = subprocess.Popen(command(run, "--ranks", str(RANKS), steps=1000000), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline and not ((run / "metrics.jsonl").exists() and len((run / "metrics.jsonl").read_text().splitlines()) > 5):
        time.sleep(0.05)
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    begin = time.monotonic()
    subprocess.run(["kill", f"-{int(signal.SIGKILL)}", children[1]], check=True)
    _, text = process.communicate(timeout=LONG)
    errors = re.findall(r"error: .*", text)
    print(f"kill -9 of rank 1: all ended after {time.monotonic() - begin:.1f} s: {errors}", flush=True)
    assert process.returncode == 2 and len(errors) == 1 and "rank 1" in errors[0], text[-2000:]


def check_rl(work):
    """Ranks share the episodes of a step: the toy is learnt as by one, and each rank's sampler keeps to the trainer's numbers."""
    words = ["--config", str(ROOT / "configs/rl_toy.toml"), "--ranks", str(RANKS)]
    for label, limit, settings in (("fastest", 2e-4, {}), ("engine", 1e-8, {"products": "engine"})):
        run = work / f"rl-{label}"
        settings = {"run": run, "model": work / "model", "device": "cuda", "rank_seconds": 30, **settings}
        words_of = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        done = subprocess.run([PROGRAM, "rl", *words, *words_of], capture_output=True, text=True, timeout=2 * LONG, cwd=ROOT)
        assert done.returncode == 0, done.stderr[-2000:]
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        rewards, worst = [row["reward"] for row in rows], max(row["mismatch_k3"] for row in rows if row["updates"] > 0)
        print(f"rl, {label}, {RANKS} ranks: reward {rewards[0]:.3f} to {rewards[-1]:.3f}, k3 at most {worst:.1e}", flush=True)
        assert sum(rewards[-5:]) / 5 - sum(rewards[:5]) / 5 >= 0.2 and worst <= limit, (rewards, worst)


def main():
    if torch.cuda.device_count() == 0:
        print("no GPU")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="kw-ranks-gpu-") as name:
        work = pathlib.Path(name)
        check_duplicate(work)
        if RANKS < 2:
            print("one GPU: the rest is left out")
            sys.exit(77)
        for label, settings in (("adamw", {}), ("muon", {"optimizer": "muon"}), ("lora", {"lora_rank": 16, "learning_rate": 0.01})):
            one = trained(work / f"{label}-1", **settings)
            split = trained(work / f"{label}-split", **{**settings, "micro_tokens": 300})
            check_alike(f"{label}, {RANKS} ranks", one, trained(work / f"{label}-n", "--ranks", str(RANKS), **settings), split)
        check_memory(work)
        with_heads_of_64(work / "model")
        check_rl(work)
        one = trained(work / "adamw-1", "--resume", steps=40)
        check_alike(f"resumed, {RANKS} ranks to 1", one, trained(work / "adamw-n", "--resume", steps=40))
        check_death(work)


main()
