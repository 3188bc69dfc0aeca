"""kernelwright-train sft (all weights, with Muon, with LoRA) and distill on a GPU beside the same runs on the processor: bfloat16 against float32, so
losses agree roughly. And rl with a teacher's whole distributions on a GPU.
usage: sft_gpu_test.py KERNELWRIGHT_TRAIN; exit status 77 without a GPU"""

import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 30
ALIKE = 0.05  # of the loss, or of a fifth of the first one: a step's loss in bfloat16 and in float32
DTYPES = {"cuda": "bfloat16", "cpu": "float32"}


def rows_of(run, name, config, **settings):
    """The metrics of one run, a step each."""
    settings = {"run": run, "save_every": 10, **settings}
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = subprocess.run([PROGRAM, name, "--config", str(ROOT / "configs" / config), *words], capture_output=True, text=True, timeout=300, cwd=ROOT)
    if "has no CUDA device" in done.stderr:
        print(done.stderr.strip())
        sys.exit(77)
    assert done.returncode == 0, f"{name} {settings}: {done.stderr[-2000:]}"
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def last_checkpoint(run):
    return sorted((run / "checkpoints").glob("step-*"))[-1]


def check_alike(work, label, name, config, **settings):
    gpu, cpu = ([row["loss"] for row in rows_of(work / f"{label}-{device}", name, config, device=device, dtype=dtype, steps=STEPS, **settings)]
                for device, dtype in DTYPES.items())
    assert len(gpu) == len(cpu) == STEPS, (len(gpu), len(cpu))
    worst = max(abs(a - b) / max(b, cpu[0] / 5) for a, b in zip(gpu, cpu))
    assert worst < ALIKE, f"{label}: {worst}"
    assert gpu[-1] < 0.97 * gpu[0], f"{label}: nothing was learnt: {gpu[0]} to {gpu[-1]}"
    print(f"{label}: loss {gpu[0]:.4f} to {gpu[-1]:.4f} on the GPU, {cpu[-1]:.4f} on the processor; largest relative difference {worst:.1e}")
    return gpu


def check_merged(work, losses):
    """The model beside an adapter is their sum: training goes on with it where the adapter's ended."""
    merged = last_checkpoint(work / "lora-cuda")
    after = rows_of(work / "after", "sft", "sft_tiny.toml", device="cuda", dtype="bfloat16", steps=1, model=merged, new_weights="false")[0]["loss"]
    assert abs(after - losses[-1]) < 0.5 * (losses[0] - losses[-1]), (losses[0], losses[-1], after)


def check_teacher(work, teacher):
    lines = rows_of(work / "rl", "rl", "rl_toy.toml", device="cuda", teacher=teacher, estimator="none", teacher_divergence="reverse", updates=1, steps=25)
    distances = [line["teacher_kl"] for line in lines]
    assert distances[-1] < 0.7 * distances[0], distances
    print(f"rl with a teacher: KL {distances[0]:.3f} to {distances[-1]:.3f} nats a token")


def main():
    with tempfile.TemporaryDirectory(prefix="kw-train-gpu-") as name:
        work = pathlib.Path(name)
        check_alike(work, "sft", "sft", "sft_tiny.toml")
        check_alike(work, "muon", "sft", "sft_tiny.toml", optimizer="muon")
        check_merged(work, check_alike(work, "lora", "sft", "sft_tiny.toml", lora_rank=16, learning_rate=0.01))
        teacher = last_checkpoint(work / "sft-cuda")
        check_alike(work, "distill", "distill", "distill_tiny.toml", teacher=teacher)
        check_teacher(work, teacher)


if __name__ == "__main__":
    main()
