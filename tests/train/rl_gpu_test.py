"""kernelwright-train rl on a GPU: sampling and training with one set of bfloat16 weights. It learns the toy, the sampler's numbers stay
those of the trainer while weights change, every token has its weights' version, and a killed run goes on.
usage: rl_gpu_test.py KERNELWRIGHT_TRAIN; exit status 77 without a GPU"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from toy_model import with_heads_of_64

PROGRAM = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]
MARGIN = 0.2  # the mean reward of the last five steps is at least so much over that of the first five
GAP = 2e-4  # mean k3 of a step
EXACT_GAP = 1e-8  # the same, where both compute alike: float32 rounding of the head's sums alone
ALIKE = {"samples": 8, "prompts": 4, "steps": 12, "save_every": 4, "toy_bytes": "exoz", "answer_tokens": 24}


def command(run, *flags, **settings):
    settings = {"run": run, "model": ROOT / "configs/tiny_model", "device": "cuda", **settings}
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [PROGRAM, "rl", "--config", str(ROOT / "configs/rl_toy.toml"), *words, *flags]


def run(*arguments, **settings):
    done = subprocess.run(command(*arguments, **settings), capture_output=True, text=True, timeout=300)
    if "has no CUDA device" in done.stderr:
        print(done.stderr.strip())
        sys.exit(77)
    assert done.returncode == 0, done.stderr[-2000:]


def rows(folder, name="metrics.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def check_learning(work):
    """An engine that sampled with the weights of the start would learn nothing, and its numbers would leave the trainer's."""
    engine = {"products": "engine", "model": with_heads_of_64(work / "model")}
    stale = {"max_staleness": 1, "correction": "decoupled", "importance": "token"}
    for name, settings in {"ppo": {"updates": 2}, "one_pass": {"updates": 1}, "kl": {"kl": "k3", "kl_coefficient": 0.001}, "fastest": {"matmuls": "fastest"},
                           "top_p": {"top_p": 0.97}, "engine": engine, "engine_top_p": {**engine, "top_p": 0.97},
                           "engine_kl": {**engine, "kl": "k3", "kl_coefficient": 0.001}, "engine_muon": {**engine, "optimizer": "muon"},
                           "engine_lora": {**engine, "lora_rank": 8, "learning_rate": 2e-2}, "engine_stale": {**engine, **stale}}.items():
        run(work / name, **settings)
        lines = rows(work / name)
        rewards = [line["reward"] for line in lines]
        gained = sum(rewards[-5:]) / 5 - sum(rewards[:5]) / 5
        assert gained >= MARGIN, f"{name}: the reward rose by {gained:.3f} only"
        learnt = [line for line in lines if line["updates"] > 0]
        worst = max(line["mismatch_k3"] for line in learnt)
        limit = EXACT_GAP if "products" in settings else GAP
        assert worst <= limit or "max_staleness" in settings, f"{name}: k3 {worst} between sampler and trainer"
        print(f"{name}: reward {rewards[0]:.3f} to {rewards[-1]:.3f}, k3 at most {worst:.1e}, largest difference "
              f"{max(line['mismatch_largest'] for line in learnt):.1e}, peak {lines[-1]['peak_bytes'] >> 20} MiB")
        if name == "kl":
            assert learnt[0]["kl"] < learnt[-1]["kl"]


def check_resume(work):
    """Versions count steps, over a kill as well, and the resumed run goes on from what was saved."""
    whole, killed = work / "whole", work / "killed"
    run(whole, **ALIKE)
    process = subprocess.Popen(command(killed, **ALIKE), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while process.poll() is None and time.monotonic() < deadline and not list(killed.glob("checkpoints/step-000004/DONE")):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    run(killed, "--resume", **ALIKE)
    for folder in (whole, killed):
        versions = [set(row["answer"]["versions"]) for row in rows(folder, "episodes.jsonl") if "answer" in row]
        assert versions == [{step} for step in range(12) for _ in range(32)], folder
    # Rows stand in the order in which answers ended, which is another one every time.
    first, again = (sorted((row["task"], row["answer"]["tokens"], row["reward"]) for row in answers[:32])
                    for answers in ([row for row in rows(folder, "episodes.jsonl") if "answer" in row] for folder in (whole, killed)))
    assert first == again, "the same weights and seed gave other answers"
    assert [row["step"] for row in rows(killed)] == list(range(1, 13))


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    check_learning(folder)
    check_resume(folder)
