#!/usr/bin/env python3
"""Measures kernelwright-train rl on a GPU: a GRPO step by phase, the time from the command to the first optimizer step, and memory over a
long run; beside it TRL's GRPOTrainer, which generates with transformers, on the same model, prompts, lengths and reward in the same run.
Weights are random and the reward is the toy's: the share of a letter.
usage: rl_gpu.py --bin FOLDER --out FILE [--shape 0.5b] [--steps N] [--long N] [--parity] [--trl]"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/lm"))
import tiny_model  # noqa: E402

SHAPES = {  # hidden, layers, heads, kv heads, inner, vocabulary
    "tiny": (128, 2, 4, 2, 256, 2000),
    "0.5b": (896, 24, 14, 2, 4864, 151936),
    "1.5b": (1536, 28, 12, 2, 8960, 151936),
}
LETTERS = "etaoinsh"
SAMPLES = 8
CONTEXT = 2048


def tokenizer(vocabulary):
    """Every number has a token, so that all that is sampled can be decoded. Text is encoded as bytes: no two are merged."""
    out = tiny_model.tokenizer_json(256 + len(tiny_model.SPECIAL))
    letters = [tiny_model.byte_letters()[byte] for byte in range(33, 127)]
    words = (a + b + c for a in letters for b in letters for c in letters)
    vocab = out["model"]["vocab"]
    while len(vocab) < vocabulary - len(tiny_model.SPECIAL):
        vocab[next(words)] = len(vocab)
    for place, added in enumerate(out["added_tokens"]):
        added.update(id=len(vocab) + place, single_word=False, lstrip=False, rstrip=False)
    whole = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    out.update(pre_tokenizer=whole, post_processor=whole, decoder=whole)
    return {"version": "1.0", **out}


def write_model(folder, shape, prompt_tokens):
    """A model of random weights, and a chat template that makes the toy's prompts so long."""
    import torch
    import transformers
    hidden, layers, heads, kv_heads, inner, vocabulary = SHAPES[shape]
    end = vocabulary - len(tiny_model.SPECIAL)
    config = transformers.Qwen2Config(
        vocab_size=vocabulary, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
        intermediate_size=inner, max_position_embeddings=CONTEXT, tie_word_embeddings=True, eos_token_id=end, pad_token_id=end, bos_token_id=end)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_default_device(device)
    model = transformers.Qwen2ForCausalLM(config)
    torch.set_default_device("cpu")
    model.to(torch.bfloat16).save_pretrained(folder)
    del model
    # The rest of a prompt is 27 bytes and five special tokens.
    filler = ("Write the letter that is asked for, again and again, and nothing else. " * 4)[:max(prompt_tokens - 50, 0)]
    template = ("{{ '<|im_start|>system\\n" + filler + "<|im_end|>\\n' }}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "
                "message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(vocabulary)))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "chat_template": template}))


def gpu_bytes(pid):
    """What the driver counts for the process, and the process's own memory."""
    used = 0
    if shutil.which("nvidia-smi"):
        done = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True)
        used = int(done.stdout.split()[0]) << 20 if done.returncode == 0 and done.stdout.strip() else 0
    status = pathlib.Path(f"/proc/{pid}/status")
    resident = next((int(line.split()[1]) << 10 for line in status.read_text().splitlines() if line.startswith("VmRSS")), 0) if status.exists() else 0
    return used, resident


def ours(binaries, model, work, steps, settings, looks=()):
    """Rows of the metrics, seconds to the end of each step from the command, and memory after the steps that are named in `looks`."""
    run = work / f"run-{len(list(work.glob('run-*')))}"
    settings = {"model": model, "run": run, "environment": "toy", "toy_bytes": LETTERS, "prompts": len(LETTERS), "samples": SAMPLES, "steps": steps + 1,
                "save_every": 10 ** 6, "micro_tokens": 16384, "learning_rate": 1e-6, "device": "cuda", **settings}
    words = [str(binaries / "kernelwright-train"), "rl", *(w for k, v in settings.items() for w in ("--set", f"{k}={v}"))]
    metrics = run / "metrics.jsonl"
    ends, memory = [], {}
    with tempfile.TemporaryFile("w+") as said:
        begin = time.monotonic()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said)
        while process.poll() is None and len(ends) < steps:
            time.sleep(0.002)
            lines = metrics.read_text().count("\n") if metrics.exists() else 0
            while len(ends) < min(lines, steps):
                ends.append(time.monotonic() - begin)
                if len(ends) in looks:
                    memory[len(ends)] = gpu_bytes(process.pid)
        if process.poll() is None:  # the last checkpoint is not part of this
            process.kill()
            process.wait()
        elif len(ends) < steps:
            said.seek(0)
            return {"error": said.read()[-800:]}, [], {}
    rows = [json.loads(line) for line in metrics.read_text().splitlines()[:steps]]
    shutil.rmtree(run)
    return rows, ends, memory


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def phases(rows):
    keys = ("step_seconds", "sample_seconds", "judge_seconds", "train_seconds", "sampled_per_second", "trained_per_second", "answer_tokens")
    return {key: round(median([row[key] for row in rows]), 4) for key in keys}


def parity(rows):
    return {"mean_k3": sum(row["mismatch_k3"] for row in rows) / len(rows), "worst_step_k3": max(row["mismatch_k3"] for row in rows),
            "mean_k1": sum(row["mismatch_k1"] for row in rows) / len(rows), "largest": max(row["mismatch_largest"] for row in rows),
            "tokens": sum(row["trained_tokens"] for row in rows)}


TRL = '''
import json, sys, time
model, answer, steps, dtype, micro = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
begin = time.monotonic()
import torch, transformers
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
LETTERS = sys.argv[6]
gpu = torch.cuda.is_available()
def share(prompts, completions, letter, **kwargs):
    texts = [one[0]["content"] if isinstance(one, list) else one for one in completions]
    return [text.count(one) / max(len(text), 1) for text, one in zip(texts, letter)]
rows = [{"prompt": [{"role": "user", "content": f"The letter {one}:"}], "letter": one} for one in LETTERS] * steps
class Times(transformers.TrainerCallback):
    ends = []
    def on_step_end(self, *args, **kwargs):
        if gpu:
            torch.cuda.synchronize()
        self.ends.append(time.monotonic() - begin)
settings = GRPOConfig(output_dir=sys.argv[7], per_device_train_batch_size=micro, gradient_accumulation_steps=64 // micro, num_generations=8,
                      max_completion_length=answer, max_steps=steps, learning_rate=1e-6, temperature=1.0, beta=0.0, bf16=gpu,
                      use_cpu=not gpu,
                      gradient_checkpointing=False, save_strategy="no", report_to=[], logging_steps=1, disable_tqdm=True,
                      model_init_kwargs={"dtype": dtype}, shuffle_dataset=False)
tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(model, padding_side="left")
trainer = GRPOTrainer(model=model, processing_class=tokenizer, reward_funcs=share, args=settings, train_dataset=Dataset.from_list(rows), callbacks=[Times()])
trainer.train()
print("RESULT " + json.dumps({"ends": Times.ends, "peak_bytes": torch.cuda.max_memory_allocated() if gpu else 0, "log": trainer.state.log_history[-2:]}))
'''


def trl(model, work, steps, answer, dtype, micro):
    script = work / "trl_peer.py"
    script.write_text(TRL)
    done = subprocess.run([sys.executable, str(script), str(model), str(answer), str(steps), dtype, str(micro), LETTERS, str(work / "trl")],
                          capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"})
    found = [line[7:] for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not found:
        return {"error": (done.stdout + done.stderr)[-1500:]}
    result = json.loads(found[0])
    ends = result["ends"]
    last = result["log"][0]
    return {"step_seconds": round(median([b - a for a, b in zip(ends, ends[1:])]), 4), "first_step_end": round(ends[0], 2), "steps": len(ends) - 1,
            "peak_bytes": result["peak_bytes"], "answer_tokens": last.get("completions/mean_length")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--shape", choices=SHAPES, default="0.5b")
    parser.add_argument("--prompt", type=int, default=180, help="tokens of a prompt, about")
    parser.add_argument("--answer", type=int, default=512, help="tokens of an answer")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--long", type=int, default=0, help="steps of the long run, with answers of 64 tokens")
    parser.add_argument("--parity", action="store_true", help="sampled and recomputed log-probabilities of 102,400 tokens, with top-p 0.97 too")
    parser.add_argument("--trl", action="store_true", help="TRL beside it")
    parser.add_argument("--trl-steps", type=int, default=4)
    parser.add_argument("--trl-dtypes", nargs="+", default=["bfloat16", "float32"], help="of its weights")
    parser.add_argument("--model", type=pathlib.Path, help="a folder that --write-model made")
    parser.add_argument("--write-model", type=pathlib.Path, help="make this folder, and measure nothing")
    parser.add_argument("--set", action="append", default=[], help="key=value of ours")
    options = parser.parse_args()
    if options.write_model:
        return write_model(options.write_model, options.shape, options.prompt)
    if not options.bin or not options.out:
        parser.error("--bin and --out are required")
    extra = dict(word.split("=", 1) for word in options.set)

    def report(**line):
        text = json.dumps(line)
        print(text, flush=True)
        with options.out.open("a") as out:
            out.write(text + "\n")

    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        model = options.model or work / "model"
        if not model.exists():  # in a process of its own, whose memory goes with it
            subprocess.run([sys.executable, __file__, "--write-model", str(model), "--shape", options.shape, "--prompt", str(options.prompt)], check=True)
        length = options.prompt + options.answer + 32
        settings = {"answer_tokens": options.answer, "max_tokens": length, **extra}
        for name in ("kernels compiled", "kernels kept"):
            rows, ends, _ = ours(options.bin, model, work, 1, settings)
            report(what="first step", kernels=name, **({"seconds": round(ends[0], 2), **phases(rows)} if ends else rows))
        rows, ends, _ = ours(options.bin, model, work, options.steps, settings)
        if ends:
            step = median([b - a for a, b in zip(ends[1:], ends[2:])])
            report(what="ours", shape=options.shape, wall_seconds_a_step=round(step, 4), **phases(rows[2:]), parity=parity(rows),
                   peak_bytes=rows[-1].get("peak_bytes"))
        else:
            report(what="ours", **rows)
        if options.parity:
            for top_p in (1, 0.97):
                done = subprocess.run([str(options.bin / "kw_train_parity"), str(model), "cuda", "bfloat16", "64", "1600", str(top_p)],
                                      capture_output=True, text=True)
                report(what="parity", **(json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr[-500:]}))
        if options.long:
            looks = (20, options.long)
            rows, ends, memory = ours(options.bin, model, work, options.long, {**settings, "answer_tokens": 64, "learning_rate": 3e-5}, looks)
            if ends:
                report(what="long run", steps=len(rows), memory={str(step): value for step, value in memory.items()},
                       step_seconds_10_30=round(median([row["step_seconds"] for row in rows[10:30]]), 4),
                       step_seconds_last_20=round(median([row["step_seconds"] for row in rows[-20:]]), 4), parity=parity(rows),
                       reward=[round(sum(row["reward"] for row in part) / len(part), 4) for part in (rows[:10], rows[-10:])],
                       peak_bytes=[rows[19].get("peak_bytes") if len(rows) > 19 else None, rows[-1].get("peak_bytes")])
            else:
                report(what="long run", **rows)
        if options.trl:
            for dtype in options.trl_dtypes:
                report(what="TRL", dtype=dtype, micro_batch=16, **trl(model, work, options.trl_steps, options.answer, dtype, 16))


if __name__ == "__main__":
    main()
