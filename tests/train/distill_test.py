"""kernelwright-train distill beside the same training with transformers, down to the teacher's distributions, and what it refuses.
usage: distill_test.py KERNELWRIGHT_TRAIN; exit 77: this Python has no transformers."""

import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
except ImportError:
    print("no transformers: skipped")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lm"))
import tiny_model  # noqa: E402
from transformers_peer import load, steps_of  # noqa: E402

PROGRAM = sys.argv[1]
VOCABULARY = 600
STEPS, STEP_TOKENS, RATE = 24, 120, 5e-3
CURVES = (("forward", 0, 1.0, 0.0), ("reverse", 8, 1.0, 0.0), ("jensen_shannon", 5, 2.0, 0.25))  # divergence, top_k, temperature, cross-entropy's share


def make_model(folder, seed, hidden, spread, vocabulary=VOCABULARY):
    torch.manual_seed(seed)
    config = transformers.Qwen3Config(
        vocab_size=vocabulary, hidden_size=hidden, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=2 * hidden,
        head_dim=16, max_position_embeddings=256, initializer_range=spread, eos_token_id=vocabulary - 3, bos_token_id=None, tie_word_embeddings=True)
    transformers.Qwen3ForCausalLM(config).to(torch.float32).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(tiny_model.tokenizer_json(vocabulary)))


def is_decided(logits, top_k):
    """Of each token: whether rounding cannot decide which are the likeliest top_k. With 2.4e-7 between the fifth and the sixth, one machine takes
    another fifth than transformers does, and both are right."""
    sorted_logits = logits.sort(-1, descending=True).values
    return sorted_logits[:, top_k - 1] - sorted_logits[:, top_k] > 1e-4


def make_rows(path, teacher):
    generator = random.Random(5)
    rows = []
    for _ in range(100):
        tokens = [generator.randrange(30) for _ in range(generator.randrange(6, 30))]
        weights = [0.0] * 2 + [generator.choice([1.0, 1.0, 0.5]) for _ in tokens[2:]]
        with torch.no_grad():
            logits = teacher(torch.tensor(tokens)[None, :-1]).logits[0]
        decided = torch.stack([is_decided(logits, top_k) for _, top_k, _, _ in CURVES if top_k > 0]).all(0).tolist()
        rows.append({"tokens": tokens, "weights": weights[:1] + [weight * keep for weight, keep in zip(weights[1:], decided)]})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def divergence(kind, teacher, student, beta=0.5, top_k=0):
    """Of logits over the temperature, a token each."""
    p, q = teacher.double().softmax(-1), student.double().softmax(-1)
    if top_k:
        chosen = p.topk(top_k, -1).indices
        p, q = (torch.cat([some := x.gather(-1, chosen), 1 - some.sum(-1, keepdim=True)], -1) for x in (p, q))
    kl = lambda a, b: (a * (a / b).log()).sum(-1)  # noqa: E731
    m = beta * p + (1 - beta) * q
    return {"forward": lambda: kl(p, q), "reverse": lambda: kl(q, p), "jensen_shannon": lambda: beta * kl(p, m) + (1 - beta) * kl(q, m)}[kind]()


def train_with_transformers(student, teacher, rows, kind, top_k, temperature, share):
    matrices = [p for p in student.parameters() if p.ndim > 1]
    vectors = [p for p in student.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW([{"params": matrices}, {"params": vectors}], lr=RATE, betas=(0.9, 0.95), eps=1e-8, weight_decay=0)
    lines = []
    for step in steps_of(rows, STEPS, STEP_TOKENS):
        weight = sum(sum(row["weights"][1:]) for row in step)
        apart, entropy = 0, 0
        for row in step:
            tokens, weights = torch.tensor(row["tokens"]), torch.tensor(row["weights"][1:])
            logits = student(tokens[None, :-1]).logits[0]
            with torch.no_grad():
                wanted = teacher(tokens[None, :-1]).logits[0]
            apart = apart + (divergence(kind, wanted / temperature, logits / temperature, 0.3, top_k) * weights).sum() / weight
            entropy = entropy + (torch.nn.functional.cross_entropy(logits, tokens[1:], reduction="none") * weights).sum() / weight
        loss = (1 - share) * temperature**2 * apart + share * entropy
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1)
        optimizer.step()
        lines.append({"loss": loss.item(), "divergence": apart.item(), "cross_entropy": entropy.item()})
    return lines


def command(work, run, *extra):
    settings = {"model": work / "student", "teacher": work / "teacher", "run": work / run, "data": work / "rows.jsonl", "shuffle": "false",
                "max_tokens": 200, "step_tokens": STEP_TOKENS, "micro_tokens": 64, "steps": STEPS, "learning_rate": RATE, "schedule": "constant",
                "device": "cpu", "dtype": "float32", "threads": 1, "head_chunk": 50, "save_every": 8, "keep": 0}
    settings.update(dict(word.split("=", 1) for word in extra if "=" in word))
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [PROGRAM, "distill", *words, *(word for word in extra if "=" not in word)]


def run(*words, cwd=None):
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, cwd=cwd)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return done.stdout.strip()


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def check_curves(work, rows):
    teacher = load(work / "teacher")
    for kind, top_k, temperature, share in CURVES:
        name = f"run-{kind}"
        run(*command(work, name, f"divergence={kind}", f"top_k={top_k}", f"temperature={temperature}", f"cross_entropy={share}", "beta=0.3"))
        theirs = train_with_transformers(load(work / "student"), teacher, rows, kind, top_k, temperature, share)
        ours = metrics(work / name)
        assert len(ours) == STEPS
        worst = max(abs(a[key] - b[key]) / b[key] for a, b in zip(ours, theirs) for key in b)
        assert worst < 1e-4, worst
        assert theirs[-1]["loss"] < 0.8 * theirs[0]["loss"], (theirs[0], theirs[-1])
        print(f"{kind}, top_k {top_k}: divergence {ours[0]['divergence']:.4f} to {ours[-1]['divergence']:.4f}; largest relative difference {worst:.1e}")


def check_resume(work):
    """From the checkpoint in the middle, the bits of the run that was not interrupted."""
    whole, cut = work / "run-jensen_shannon", work / "run-cut"
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "checkpoints" / f"step-{STEPS:06}")
    same = ("divergence=jensen_shannon", "top_k=5", "temperature=2.0", "cross_entropy=0.25", "beta=0.3")
    run(*command(work, "run-cut", *same, "--resume"))
    for name in ("model.safetensors", "optimizer.safetensors"):
        one, other = (folder / "checkpoints" / f"step-{STEPS:06}" / name for folder in (whole, cut))
        assert one.read_bytes() == other.read_bytes(), f"resumed run differs: {name}"
    assert [line["loss"] for line in metrics(cut)] == [line["loss"] for line in metrics(whole)]
    refused(command(work, "run-cut", *same, "top_k=6", "--resume"), "top_k: differs")
    words = command(work, "run-cut", "--resume")
    place = next(place for place, word in enumerate(words) if word.startswith("teacher="))
    refused([PROGRAM, "sft", *words[2:place - 1], *words[place + 1:]], "teacher: differs")
    print("resume: equal to the bit")


def refused(words, *parts):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, (done.returncode, done.stderr[-500:])
    for part in parts:
        assert part in done.stderr, (part, done.stderr[-500:])


def check_refusals(work):
    make_model(work / "wider", 4, 32, 0.1, VOCABULARY + 8)
    refused(command(work, "run-x", f"teacher={work / 'wider'}"), "teacher", "608 tokens", "the same tokens")
    other = work / "other"
    shutil.copytree(work / "teacher", other)
    tokenizer = json.loads((other / "tokenizer.json").read_text())
    words = tokenizer["model"]["vocab"]
    first, second = sorted(words, key=words.get)[40:42]
    words[first], words[second] = words[second], words[first]
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    refused(command(work, "run-x", f"teacher={other}"), "teacher", "token ", "the same tokens")
    refused(command(work, "run-x", f"teacher={work / 'nowhere'}"), "teacher", "nowhere")
    refused(command(work, "run-x", "teacher="), "teacher: name")
    refused(command(work, "run-x", f"top_k={VOCABULARY + 1}"), "top_k: 601 is over 600")
    refused(command(work, "run-x", "divergence=sideways"), "divergence", "jensen_shannon")
    plan = run(*command(work, "run-x", "--plan"))
    assert "teacher " in plan and "the run (about)" in plan, plan
    assert not (work / "run-x" / "checkpoints").exists()
    print("refusals and plan: right")


def check_recipes(work):
    """configs/sft_tiny.toml makes a teacher, and configs/distill_tiny.toml a student that is it, nearly."""
    root = pathlib.Path(__file__).resolve().parents[2]
    words = [word for setting in (f"run={work / 'sft'}", "steps=30", "threads=1") for word in ("--set", setting)]
    teacher = run(PROGRAM, "sft", "--config", "configs/sft_tiny.toml", *words, cwd=root)
    words = [word for setting in (f"run={work / 'distill'}", f"teacher={teacher}", "steps=50", "validate_every=50", "threads=1")
             for word in ("--set", setting)]
    run(PROGRAM, "distill", "--config", "configs/distill_tiny.toml", *words, cwd=root)
    lines = metrics(work / "distill")
    first, last = lines[0]["divergence"], lines[-1]["validation_divergence"]
    assert last < 0.1 and last < 0.05 * first, (first, last)
    assert math.isfinite(lines[-1]["validation_nats_per_byte"])
    print(f"recipes: KL to the teacher {first:.3f} to {last:.4f} nats a token on held-out rows")


def main():
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="kw-distill-") as folder:
        work = pathlib.Path(folder)
        make_model(work / "teacher", 3, 64, 0.15)
        make_model(work / "student", 4, 32, 0.1)
        rows = make_rows(work / "rows.jsonl", load(work / "teacher"))
        check_curves(work, rows)
        check_resume(work)
        check_refusals(work)
        check_recipes(work)


main()
