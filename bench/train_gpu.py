"""Measures kernelwright-train on a GPU: parity with the engine's log-probabilities, and the speed of SFT beside plain PyTorch
(packed variable-length flash attention, bfloat16 autocast, float32 masters, fused AdamW, torch.compile where it works) in the same run.
Weights are random: nothing is learnt here. usage: train_gpu.py --bin FOLDER --out FILE [--steps N] SHAPE..."""

import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import torch
import torch.utils.checkpoint

SHAPES = {  # hidden, layers, heads, kv heads, inner, vocabulary, tied; micro tokens
    "28m": (512, 8, 8, 4, 1408, 8192, True, 16384),
    "0.5b": (896, 24, 14, 2, 4864, 151936, True, 16384),
    "1.5b": (1536, 28, 12, 2, 8960, 151936, True, 16384),
    "3b": (2048, 36, 16, 2, 11008, 151936, True, 16384),
}
PEAK = 989e12  # dense bfloat16 of an H100 or H200 SXM, FLOP a second
CONTEXT = 4096


def config_of(shape):
    hidden, layers, heads, kv_heads, inner, vocabulary, tied, _ = SHAPES[shape]
    return {"model_type": "qwen2", "vocab_size": vocabulary, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": kv_heads, "intermediate_size": inner, "max_position_embeddings": CONTEXT, "tie_word_embeddings": tied,
            "initializer_range": 0.02, "eos_token_id": 0, "rms_norm_eps": 1e-6, "rope_theta": 10000.0}


def tokenizer():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/lm"))
    import tiny_model
    return tiny_model.tokenizer_json(600)


def write_model(folder, shape):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config_of(shape)))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))


def write_rows(path, vocabulary, count):
    """Lengths as our kernels' samples have: 200 to 4,000 tokens, 1,200 in the middle."""
    generator = random.Random(1)
    lengths = []
    with path.open("w") as out:
        for _ in range(count):
            length = min(4000, max(200, int(generator.lognormvariate(7.0, 0.6))))
            lengths.append(length)
            out.write(json.dumps({"tokens": [generator.randrange(vocabulary) for _ in range(length)]}) + "\n")
    return lengths


def flop_per_token(shape, attended):
    hidden, layers, heads, kv_heads, inner, vocabulary, _, _ = SHAPES[shape]
    head_dim = hidden // heads
    layer = hidden * (heads + 2 * kv_heads) * head_dim + heads * head_dim * hidden + 3 * hidden * inner
    return 6 * (layers * layer + vocabulary * hidden) + 12 * layers * heads * head_dim * attended / 2


def ours(binaries, model, rows, work, shape, steps, extra, saves=True, ranks=1):
    micro = SHAPES[shape][-1]
    run = work / f"run-{shape}-{len(list(work.glob('run-*')))}"
    settings = {"model": model, "new_weights": "true", "run": run, "data": rows, "max_tokens": CONTEXT, "step_tokens": ranks * micro, "micro_tokens": micro,
                "steps": steps, "learning_rate": 1e-5, "save_every": 10 ** 6, "device": "cuda", **extra}
    settings["steps"] = settings.pop("steps")  # last
    words = [str(binaries / "kernelwright-train"), "sft", *(w for k, v in settings.items() for w in ("--set", f"{k}={v}"))]
    if ranks > 1:
        words += ["--ranks", str(ranks)]
    if not saves:  # a checkpoint of 3B takes 43 GB: the run ends when it has made its steps
        words[words.index(f"steps={steps}")] = f"steps={10 ** 6}"
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said)
        metrics = run / "metrics.jsonl"
        while process.poll() is None and (saves or not metrics.exists() or metrics.read_text().count("\n") <= steps):
            time.sleep(0.2)
        if process.poll() is None:
            process.kill()
            process.wait()
        elif process.returncode != 0:
            said.seek(0)
            return {"error": said.read()[-500:]}, run
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()][5:steps]
    seconds = lines[-1]["seconds"] - lines[0]["seconds"]
    tokens = sum(line["tokens"] for line in lines[1:])
    return {"tokens_per_second": tokens / seconds, "steps": len(lines) - 1, "peak_bytes": lines[-1]["peak_bytes"]}, run


def kernel_times(trace):
    """Of a trace of --set profile: milliseconds a step by kernel, longest first, and of the GPU's work and idle time."""
    events = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    spent = {}
    for event in events:
        name = re.sub(r"void |at::native::|\(anonymous namespace\)::|<.*", "", event["name"])[:70]
        total, count = spent.get(name, (0, 0))
        spent[name] = total + event["dur"], count + 1
    whole = max(e["ts"] + e["dur"] for e in events) - min(e["ts"] for e in events)
    busy = sum(e["dur"] for e in events)
    events.sort(key=lambda e: e["ts"])
    gaps = sorted(((b["ts"] - a["ts"] - a["dur"], b["name"][:40]) for a, b in zip(events, events[1:])), reverse=True)[:9]
    top = sorted(spent.items(), key=lambda item: -item[1][0])[:24]
    return {"span_ms": round(whole / 3000, 3), "busy_ms": round(busy / 3000, 3), "longest_gaps_us": [[round(us), before] for us, before in gaps],
            "kernels": [[round(total / 3000, 3), count // 3, name] for name, (total, count) in top]}


class Rms(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Block(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        hidden, _, self.heads, self.kv_heads, inner, _, _, _ = SHAPES[shape]
        self.d = hidden // self.heads
        self.norm1, self.norm2 = Rms(hidden), Rms(hidden)
        self.qkv = torch.nn.Linear(hidden, (self.heads + 2 * self.kv_heads) * self.d, bias=False)
        self.out = torch.nn.Linear(hidden, hidden, bias=False)
        self.gate_up = torch.nn.Linear(hidden, 2 * inner, bias=False)
        self.down = torch.nn.Linear(inner, hidden, bias=False)

    def forward(self, x, cos, sin, starts, longest):
        qkv = self.qkv(self.norm1(x).bfloat16()).view(-1, self.heads + 2 * self.kv_heads, self.d)
        q, k, v = qkv.split([self.heads, self.kv_heads, self.kv_heads], 1)

        def turn(y):
            a, b = y.float().chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).bfloat16()
        o = torch.ops.aten._flash_attention_forward(turn(q), turn(k), v.contiguous(), starts, starts, longest, longest, 0.0, True, False)[0]
        x = x + self.out(o.reshape(x.shape[0], -1)).float()
        gate, up = self.gate_up(self.norm2(x).bfloat16()).chunk(2, -1)
        return x + self.down(torch.nn.functional.silu(gate) * up).float()


class Peer(torch.nn.Module):
    def __init__(self, shape, compiled, recompute):
        super().__init__()
        self.recompute = recompute
        hidden, layers, heads, _, _, vocabulary, _, _ = SHAPES[shape]
        self.embed = torch.nn.Embedding(vocabulary, hidden)
        torch.nn.init.normal_(self.embed.weight, std=0.02)
        self.blocks = torch.nn.ModuleList(Block(shape) for _ in range(layers))
        self.norm = Rms(hidden)
        self.run = [torch.compile(block, dynamic=True) if compiled else block for block in self.blocks]
        angles = torch.arange(CONTEXT)[:, None] * (10000.0 ** -(torch.arange(0, hidden // heads, 2) / (hidden // heads)))[None]
        self.register_buffer("cos", angles.cos()[:, None])
        self.register_buffer("sin", angles.sin()[:, None])

    def forward(self, tokens, targets, positions, starts, longest):
        x = self.embed(tokens).float()
        cos, sin = self.cos[positions], self.sin[positions]
        for block in self.run:
            if self.recompute:
                x = torch.utils.checkpoint.checkpoint(block, x, cos, sin, starts, longest, use_reentrant=False)
            else:
                x = block(x, cos, sin, starts, longest)
        h = self.norm(x).bfloat16()
        loss = 0
        for part, wanted in zip(h.split(2048), targets.split(2048)):
            loss = loss + torch.utils.checkpoint.checkpoint(
                lambda a, b: torch.nn.functional.cross_entropy((a @ self.embed.weight.bfloat16().t()).float(), b, reduction="sum"),
                part, wanted, use_reentrant=False)
        return loss / targets.numel()


def peer(shape, lengths, steps, compiled, recompute):
    torch.manual_seed(0)
    torch.cuda.reset_peak_memory_stats()
    model = Peer(shape, compiled, recompute).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    micro, place, tokens, begin = SHAPES[shape][-1], 0, 0, 0.0
    vocabulary = SHAPES[shape][5]
    for step in range(steps):
        if step == 8:
            torch.cuda.synchronize()
            begin, tokens = time.perf_counter(), 0
        batch, total = [], 0
        while total + lengths[place % len(lengths)] - 1 <= micro:
            batch.append(lengths[place % len(lengths)] - 1)
            total += batch[-1]
            place += 1
        ids = torch.randint(vocabulary, (total,), device="cuda")
        positions = torch.cat([torch.arange(n) for n in batch]).cuda()
        starts = torch.tensor([0, *batch]).cumsum(0).int().cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(ids, ids, positions, starts, max(batch))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        tokens += total
    torch.cuda.synchronize()
    return {"tokens_per_second": tokens / (time.perf_counter() - begin), "peak_bytes": torch.cuda.max_memory_allocated()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--no-peer", action="store_true", help="measure ours alone")
    parser.add_argument("--ranks", type=int, action="append", default=[], help="measure this many ranks, a GPU each, beside one")
    parser.add_argument("--variants", action="store_true",
                        help="measure nothing but log-probabilities beside the engine's, and a step's time, with products=fastest and products=engine")
    parser.add_argument("--variant-size", nargs=2, type=int, default=[64, 1600], metavar=("SEQUENCES", "TOKENS"), help="what --variants samples")
    parser.add_argument("--profile", action="store_true", help="report where the GPU's time goes, too")
    parser.add_argument("--set", action="append", default=[], help="SHAPE:key=value, a setting of ours for one shape")
    parser.add_argument("shapes", nargs="+", choices=SHAPES)
    options = parser.parse_args()

    def report(**line):
        text = json.dumps(line)
        print(text, flush=True)
        with options.out.open("a") as out:
            out.write(text + "\n")

    report(device=torch.cuda.get_device_name(), torch=torch.__version__)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for shape in options.shapes:
            model, rows = work / shape, work / f"{shape}.jsonl"
            write_model(model, shape)
            if options.variants:
                for top_p in ("1", "0.97") if shape == "0.5b" else ("1",):
                    words = [str(options.bin / "kw_train_parity"), str(model), "cuda", "bfloat16", *map(str, options.variant_size), top_p, "--new-weights",
                             "--variants"]
                    begun = time.perf_counter()
                    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
                        for line in process.stdout:
                            report(what="variant", shape=shape, **json.loads(line))
                    report(what="variants", shape=shape, exit=process.returncode, seconds=round(time.perf_counter() - begun, 1))
                continue
            done = subprocess.run([str(options.bin / "kw_train_step_to_token"), str(model)], capture_output=True, text=True)
            report(what="step to token", shape=shape, **(json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr[-500:]}))
            lengths = write_rows(rows, SHAPES[shape][5], 600)
            attended = sum(n * n for n in lengths) / sum(lengths)
            flop = flop_per_token(shape, attended)

            def with_mfu(result):
                if "tokens_per_second" in result:
                    result["mfu"] = result["tokens_per_second"] * flop / PEAK
                return result
            extra = {"recompute": "true"} if shape == "3b" else {}
            extra.update(word.split(":", 1)[1].split("=", 1) for word in options.set if word.startswith(shape + ":"))
            result, run = ours(options.bin, model, rows, work, shape, options.steps, extra, saves=shape != "3b")
            report(what="ours", shape=shape, settings=extra, **with_mfu(result))
            for ranks in options.ranks:
                scaled, several = ours(options.bin, model, rows, work, shape, options.steps, extra, saves=shape != "3b", ranks=ranks)
                if "tokens_per_second" in scaled and "tokens_per_second" in result:
                    scaled["times_one_rank"] = scaled["tokens_per_second"] / result["tokens_per_second"]
                report(what=f"ours, {ranks} ranks of {SHAPES[shape][-1]} tokens each", shape=shape, **scaled)
                shutil.rmtree(several, ignore_errors=True)
            if options.profile:
                trace = work / f"{shape}.trace.json"
                failed, _ = ours(options.bin, model, rows, work, shape, 12, {**extra, "profile": trace}, saves=shape != "3b")
                report(what="profile", shape=shape, **(kernel_times(trace) if trace.exists() else failed))
            checkpoints = sorted(run.glob("checkpoints/step-*"))
            if checkpoints:
                done = subprocess.run([str(options.bin / "kw_train_parity"), str(checkpoints[-1]), "cuda", "bfloat16", "64", "1600"],
                                      capture_output=True, text=True)
                report(what="parity", shape=shape, **(json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr[-500:]}))
            shutil.rmtree(run, ignore_errors=True)
            for compiled in () if options.no_peer else (False, True):
                try:
                    result = peer(shape, lengths, options.steps, compiled, shape == "3b")
                except Exception as error:  # a peer that cannot run is reported
                    result = {"error": f"{type(error).__name__}: {error}"[:300]}
                torch.cuda.empty_cache()
                report(what="PyTorch compiled" if compiled else "PyTorch eager", shape=shape, **with_mfu(result))


if __name__ == "__main__":
    main()
