"""kernelwright-train sft beside the same training with transformers, and its checkpoints under interruption.
usage: sft_test.py KERNELWRIGHT_TRAIN; exit 77: this Python has no transformers or no peft."""

import json
import math
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest.mock

try:
    import torch
    import peft
    import transformers
except ImportError:
    print("no transformers or no peft: skipped")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lm"))
import tiny_model  # noqa: E402
from transformers_peer import load, steps_of  # noqa: E402

PROGRAM = sys.argv[1]
VOCABULARY = 600
STEPS, STEP_TOKENS, RATE, DECAY, CLIP = 24, 120, 3e-3, 0.1, 0.7
SHAPE = dict(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=128, max_position_embeddings=256, initializer_range=0.1, eos_token_id=VOCABULARY - 3, bos_token_id=None)


def make_model(folder, kind):
    torch.manual_seed(3)
    config, model = {"qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
                     "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM)}[kind]
    extra = {"qwen3": {"head_dim": 16, "tie_word_embeddings": True}, "llama": {"tie_word_embeddings": False}}[kind]
    model(config(**SHAPE, **extra)).to(torch.float32).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(tiny_model.tokenizer_json(VOCABULARY)))


def make_rows(path):
    """Sequences that count up, with a stride that the first token says: something to learn."""
    generator = random.Random(5)
    rows = []
    for _ in range(200):
        length, stride, first = generator.randrange(5, 40), generator.randrange(1, 5), generator.randrange(50)
        tokens = [300 + stride] + [(first + stride * place) % 100 for place in range(length)]
        weights = [0.0] * 2 + [generator.choice([1.0, 1.0, 0.5]) for _ in tokens[2:]]
        rows.append({"tokens": tokens, "weights": weights})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def optimizers_of(model, muon):
    """AdamW for all; with muon (arguments of torch.optim.Muon) that for the matrices of the layers."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    hidden = [p for name, p in named if p.ndim > 1 and ".layers." in name] if muon is not None else []
    others = [p for _, p in named if not any(p is one for one in hidden)]
    adamw = torch.optim.AdamW([{"params": [p for p in others if p.ndim > 1], "weight_decay": DECAY},
                               {"params": [p for p in others if p.ndim == 1], "weight_decay": 0}], lr=RATE, betas=(0.9, 0.95), eps=1e-8)
    return [adamw] + ([torch.optim.Muon(hidden, weight_decay=DECAY, **muon)] if hidden else [])


def train_with_transformers(model, rows, muon=None):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizers = optimizers_of(model, muon)
    rates = [[group["lr"] for group in one.param_groups] for one in optimizers]
    losses, norms = [], []
    for number, step in enumerate(steps_of(rows, STEPS, STEP_TOKENS)):
        progress = number / STEPS
        factor = min(1, (progress + 1 / STEPS) / 0.25) if progress < 0.25 else (1 + math.cos(math.pi * (progress - 0.25) / 0.75)) / 2
        for one, of_groups in zip(optimizers, rates):
            for group, rate in zip(one.param_groups, of_groups):
                group["lr"] = rate * factor
        weight = sum(sum(row["weights"][1:]) for row in step)
        loss = 0
        for row in step:
            tokens = torch.tensor(row["tokens"])
            logits = model(tokens[None, :-1]).logits[0].float()
            nats = torch.nn.functional.cross_entropy(logits, tokens[1:], reduction="none")
            loss = loss + (nats * torch.tensor(row["weights"][1:])).sum() / weight
        model.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(trained, CLIP).item())
        for one in optimizers:
            one.step()
        losses.append(loss.item())
    return model, losses, norms


def command(folder, rows, run, *extra):
    settings = {"model": folder, "run": run, "data": rows, "shuffle": "false", "max_tokens": 200, "step_tokens": STEP_TOKENS,
                "micro_tokens": 64, "steps": STEPS, "learning_rate": RATE, "schedule": "cosine", "warmup": 0.25, "weight_decay": DECAY,
                "max_norm": CLIP, "device": "cpu", "dtype": "float32", "threads": 1, "head_chunk": 50, "save_every": 8, "keep": 0,
                "validation": rows, "validation_rows": 20, "validate_every": 8}
    settings.update(dict(word.split("=", 1) for word in extra if "=" in word))
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [PROGRAM, "sft", *words, *(word for word in extra if "=" not in word)]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return done.stdout.strip()


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def compare(ours, losses, norms):
    """The largest relative differences of loss and gradient norm."""
    assert [line["step"] for line in ours] == list(range(1, STEPS + 1)), ours
    worst = max(abs(line["loss"] - loss) / loss for line, loss in zip(ours, losses))
    worst_norm = max(abs(line["gradient_norm"] - norm) / norm for line, norm in zip(ours, norms))
    assert worst < 1e-5 and worst_norm < 2e-4, (worst, worst_norm)
    return worst, worst_norm


def check_curve(kind, work):
    model, rows_file = work / kind, work / "rows.jsonl"
    make_model(model, kind)
    rows = make_rows(rows_file)
    last = run(*command(model, rows_file, work / f"run-{kind}"))
    trained, losses, norms = train_with_transformers(load(model), rows)
    ours = metrics(work / f"run-{kind}")
    worst, worst_norm = compare(ours, losses, norms)
    assert losses[-1] < 0.7 * losses[0], "nothing was learnt, so nothing is compared"
    assert ours[-1]["validation_loss"] < ours[7]["validation_loss"]
    loaded = transformers.AutoModelForCausalLM.from_pretrained(last, dtype=torch.float32).state_dict()
    distance = max((loaded[name] - value).abs().max().item() for name, value in trained.state_dict().items())
    assert distance < 2e-4, distance
    print(f"{kind}: loss {losses[0]:.4f} to {losses[-1]:.4f}; largest relative difference {worst:.1e}, of the norm {worst_norm:.1e}; weights {distance:.1e}")


def check_lora(kind, work):
    """Beside PEFT from one adapter; what is saved is PEFT's, and the model beside it is the sum. Resumed, it is the run to the bit."""
    model, rows_file, begin, folder = work / kind, work / "rows.jsonl", work / f"adapter-{kind}", work / f"lora-{kind}"
    torch.manual_seed(9)
    settings = peft.LoraConfig(r=4, lora_alpha=6, target_modules=["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"], init_lora_weights=False,
                               task_type="CAUSAL_LM")
    peft.get_peft_model(load(model), settings).save_pretrained(begin)
    last = pathlib.Path(run(*command(model, rows_file, folder, f"lora_adapter={begin}")))
    peer = peft.PeftModel.from_pretrained(load(model), begin, is_trainable=True)
    _, losses, norms = train_with_transformers(peer, make_rows(rows_file))
    worst, worst_norm = compare(metrics(folder), losses, norms)
    assert losses[-1] < 0.98 * losses[0], (losses[0], losses[-1])
    tokens = torch.arange(300)[None]
    logits = [one.eval()(tokens).logits for one in (peer, peft.PeftModel.from_pretrained(load(model), last / "adapter"), load(last))]
    distance = max((one - logits[1]).abs().max().item() for one in logits) / logits[1].abs().max().item()
    assert distance < 1e-3, distance
    merged = (logits[2] - logits[1]).abs().max().item() / logits[1].abs().max().item()
    assert merged < 1e-5, merged
    cut = work / f"lora-cut-{kind}"
    shutil.copytree(folder, cut)
    for step in (16, STEPS):
        shutil.rmtree(cut / "checkpoints" / f"step-{step:06}")
    run(*command(model, rows_file, cut, f"lora_adapter={begin}", "--resume"))
    assert checkpoint_bytes(cut / "checkpoints" / last.name) == checkpoint_bytes(last), "resumed run differs"
    refused(command(model, rows_file, cut, "--resume"), "lora_adapter: differs")
    shutil.copytree(model, work / f"other-{kind}")
    refused(command(work / f"other-{kind}", rows_file, cut, f"lora_adapter={begin}", "--resume"), "model: differs")
    refused(command(model, rows_file, work / "run-x", f"lora_adapter={begin}", "lora_rank=4"), "lora_rank and lora_adapter")
    refused(command(model, rows_file, work / "run-x", "lora_rank=4", 'lora_targets=["qproj"]'), "lora_targets", "qproj")
    refused(command(work / ("llama" if kind == "qwen3" else "qwen3"), rows_file, work / "run-x", f"lora_adapter={work / 'nowhere'}"), "nowhere")
    plan = run(*command(model, rows_file, work / "run-x", "lora_rank=8", "--plan"))
    assert "of an adapter" in plan and "frozen weights" in plan, plan
    print(f"{kind}, LoRA: loss {losses[0]:.4f} to {losses[-1]:.4f}; largest relative difference to PEFT {worst:.1e}, of the norm {worst_norm:.1e}; "
          f"logits {distance:.1e}, of the sum {merged:.1e}")


def checkpoint_bytes(folder):
    return {name: (folder / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")}


def in_float32(gradient, coefficients, steps, epsilon):
    """torch.optim.Muon's own iteration takes products in bfloat16."""
    a, b, c = coefficients
    x = gradient / gradient.norm().clamp(min=epsilon)
    x = x.T if len(x) > len(x.T) else x
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if x.shape != gradient.shape else x


def check_muon(kind, scale, work):
    """Beside torch.optim.Muon, with its products in float32 and as they are; resumed, it is the run to the bit."""
    model, rows_file, folder = work / kind, work / "rows.jsonl", work / f"muon-{kind}"
    rate = {"match_rms_adamw": 1.2e-2, "original": 2e-2}[scale]
    settings = ("optimizer=muon", f"muon_scale={scale}", f"muon_learning_rate={rate}")
    last = pathlib.Path(run(*command(model, rows_file, folder, *settings)))
    peer = {"lr": rate, "adjust_lr_fn": scale}
    with unittest.mock.patch("torch.optim._muon._zeropower_via_newtonschulz", in_float32):
        trained, losses, norms = train_with_transformers(load(model), make_rows(rows_file), peer)
    worst, worst_norm = compare(metrics(folder), losses, norms)
    assert losses[-1] < 0.7 * losses[0], "nothing was learnt, so nothing is compared"
    loaded = load(last).state_dict()
    distance = max((loaded[name] - value).abs().max().item() for name, value in trained.state_dict().items())
    assert distance < 5e-4, distance
    print(f"{kind}, Muon ({scale}): loss {losses[0]:.4f} to {losses[-1]:.4f}; largest relative difference to torch.optim.Muon in float32 {worst:.1e}, "
          f"of the norm {worst_norm:.1e}; weights {distance:.1e}")
    if scale != "original":
        return
    _, narrow, _ = train_with_transformers(load(model), make_rows(rows_file), peer)
    gap = max(abs(a - b) / b for a, b in zip(losses, narrow))
    assert gap < 2e-2, gap
    cut = work / f"muon-cut-{kind}"
    shutil.copytree(folder, cut)
    for step in (16, STEPS):
        shutil.rmtree(cut / "checkpoints" / f"step-{step:06}")
    run(*command(model, rows_file, cut, *settings, "--resume"))
    assert checkpoint_bytes(cut / "checkpoints" / last.name) == checkpoint_bytes(last), "resumed run differs"
    refused(command(model, rows_file, cut, "--resume"), "optimizer: differs")
    assert "products of Muon" in run(*command(model, rows_file, work / "run-x", *settings, "--plan"))
    print(f"Muon: equal to the bit when resumed; largest relative difference to torch.optim.Muon in bfloat16 {gap:.1e}")


def check_resume(work):
    """Resumed from a checkpoint, and after kill -9 at any time: the bits of the run that was not interrupted."""
    model, rows = work / "qwen3", work / "rows.jsonl"
    whole = work / "run-qwen3"
    want = checkpoint_bytes(whole / "checkpoints" / f"step-{STEPS:06}")
    cut = work / "run-cut"
    shutil.copytree(whole, cut)
    for step in (16, STEPS):
        shutil.rmtree(cut / "checkpoints" / f"step-{step:06}")
    (cut / "checkpoints" / "partial-step-000016").mkdir()
    run(*command(model, rows, cut, "--resume"))
    assert checkpoint_bytes(cut / "checkpoints" / f"step-{STEPS:06}") == want, "resumed run differs"
    assert [line["loss"] for line in metrics(cut)] == [line["loss"] for line in metrics(whole)]

    killed = work / "run-killed"
    generator = random.Random(8)
    for attempt in range(40):
        words = command(model, rows, killed, "save_every=1", "keep=3", *(["--resume"] if list(killed.glob("checkpoints/step-*/DONE")) else []))
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if attempt < 6:
            deadline = time.monotonic() + 60
            before = {path.name for path in killed.glob("checkpoints/*")}
            while process.poll() is None and time.monotonic() < deadline and {path.name for path in killed.glob("checkpoints/*")} == before:
                time.sleep(0.002)
            time.sleep(generator.random() * 0.03)
            process.send_signal(signal.SIGKILL)
            process.wait()
            continue
        errors = process.communicate()[1]
        assert process.returncode == 0, errors[-2000:]
        break
    assert checkpoint_bytes(killed / "checkpoints" / f"step-{STEPS:06}") == want, "the run that was killed differs"
    assert len(list(killed.glob("checkpoints/step-*"))) == 3, "keep=3"
    print("resume: equal to the bit, after kill -9 too")


def refused(words, *parts):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, (done.returncode, done.stderr[-500:])
    for part in parts:
        assert part in done.stderr, (part, done.stderr[-500:])


def check_refusals(work):
    model, rows, whole = work / "qwen3", work / "rows.jsonl", work / "run-qwen3"
    refused(command(model, rows, whole), "has checkpoints", "--resume")
    refused(command(model, rows, work / "run-none", "--resume"), "no checkpoint")
    refused(command(model, rows, whole, "--resume", "seed=5"), "seed: differs")
    refused(command(model, rows, work / "run-x", "learning_rte=1"), "learning_rte", "learning_rate")
    refused(command(model, work / "missing.jsonl", work / "run-x"), "missing.jsonl")
    state = whole / "checkpoints" / f"step-{STEPS:06}" / "optimizer.safetensors"
    state.write_bytes(state.read_bytes()[:-8])
    refused(command(model, rows, whole, "--resume", f"steps={STEPS + 1}"), "optimizer.safetensors")
    foreign = work / "run-foreign"
    shutil.copytree(work / "run-llama", foreign)
    shutil.copy(work / "run-cut" / "checkpoints" / f"step-{STEPS:06}" / "optimizer.safetensors",
                foreign / "checkpoints" / f"step-{STEPS:06}" / "optimizer.safetensors")
    refused(command(work / "llama", rows, foreign, "--resume", f"steps={STEPS + 1}"), "optimizer.safetensors", "master")
    plan = run(*command(model, rows, work / "run-x", "--plan"))
    assert "masters" in plan and "the run (about)" in plan, plan
    assert not (work / "run-x" / "checkpoints").exists()
    print("refusals and plan: right")


def check_parquet(work):
    """Rows in a table train as the same rows in lines do, to the bit, and go on so; what is no row is refused with its number."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        pyarrow = None
    if pyarrow is None or "KW_PARQUET" not in os.environ:
        print("Parquet: left out (no pyarrow, or no kernelwright-parquet)")
        return
    model, table = work / "tiny", work / "rows.parquet"
    shutil.copytree(pathlib.Path(__file__).resolve().parents[2] / "configs/tiny_model", model)
    rows = [{"prompt": f"What follows {n}?", "completion": str(n + 1)} if n % 3 == 0 else {"text": f"{n} and {n}"} if n % 3 == 1 else
            {"messages": [{"role": "user", "content": f"Say {n}."}, {"role": "assistant", "content": str(n), "weight": 0.5}]} for n in range(90)]
    text = pyarrow.string()
    message = pyarrow.struct([("role", text), ("content", text), ("weight", pyarrow.float64())])
    schema = pyarrow.schema([("prompt", text), ("completion", text), ("text", text), ("messages", pyarrow.list_(message))])
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema), table, row_group_size=16)
    lines = work / "same.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    same = ("new_weights=true", "shuffle=true", "seed=3", "steps=16", "validation=")
    want = checkpoint_bytes(pathlib.Path(run(*command(model, lines, work / "run-lines", *same))))
    last = pathlib.Path(run(*command(model, table, work / "run-table", *same)))
    assert checkpoint_bytes(last) == want, "rows of Parquet are others"
    shutil.rmtree(last)
    assert checkpoint_bytes(pathlib.Path(run(*command(model, table, work / "run-table", *same, "--resume")))) == want, "resumed run differs"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", "b"], "prompt": [None, 5]}), work / "wrong.parquet")
    refused(command(model, work / "wrong.parquet", work / "run-x", *same, "shuffle=false"), "wrong.parquet: row 2", "prompt: expected text")
    (work / "broken.parquet").write_bytes(table.read_bytes()[:-9])
    refused(command(model, work / "broken.parquet", work / "run-x", *same), "broken.parquet")
    print("Parquet: the bits of the same rows in lines, resumed too")


def check_recipe(work):
    """configs/sft_tiny.toml: new weights, a conversation a row; two steps of it."""
    root = pathlib.Path(__file__).resolve().parents[2]
    words = [word for setting in (f"run={work / 'recipe'}", "steps=2", "validate_every=2") for word in ("--set", setting)]
    done = subprocess.run([PROGRAM, "sft", "--config", "configs/sft_tiny.toml", *words], cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-1000:]
    lines = metrics(work / "recipe")
    assert abs(lines[0]["loss"] - math.log(259)) < 0.5, lines[0]  # new weights know nothing yet
    assert lines[1]["validation_nats_per_byte"] > 0, lines[1]
    print("recipe: runs")


def main():
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="kw-train-") as folder:
        work = pathlib.Path(folder)
        check_curve("qwen3", work)
        check_curve("llama", work)
        check_muon("qwen3", "match_rms_adamw", work)
        check_muon("llama", "original", work)
        check_lora("qwen3", work)
        check_lora("llama", work)
        check_resume(work)
        check_refusals(work)
        check_parquet(work)
        check_recipe(work)


main()
