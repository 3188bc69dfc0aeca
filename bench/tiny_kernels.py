#!/usr/bin/env python3
"""A model of 0.9M parameters from nothing writes whole C++ kernels, on two CPU cores: supervised training on generated samples, then reinforcement
learning with the gym's verdicts; pass@1 on problems that it has not seen, before and after.

    bench/tiny_kernels.py FOLDER [--sft-seconds 600] [--rl-seconds 600] [--rows 20000] [--held-out 64] [--turns 1] [--ranks 2]

Problems have one or two of ten operators (OPERATORS), in `data generate`'s forms and sizes. Answers are the writer's kernels of its strategy `fused`,
float32 and of at most 400 tokens; prompts are the template `compact`. Held out are problems of another seed with pairs of operators that were learnt, and,
apart, problems with pairs that no training problem has (a tenth of the pairs). Reinforcement learning has problems of its own, which the supervised
training did not have. One answer each at temperature 1, and the gym's verdict without timing.
FOLDER/result-TURNS-SEED.json has all numbers; a folder that was begun goes on. --trainer, --environment, --program: built programs.
"""

import argparse
import hashlib
import json
import math
import pathlib
import subprocess

from common import ROOT

OPERATORS = ("relu", "relu6", "hardtanh", "square", "scale", "add_constant", "subtract_constant", "multiply", "subtract", "sum")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WORDS = r"(?:int64_t|float32|[^\d\n])+|\d|\n"  # merges may join words of a line, and never digits
MODEL = {"model_type": "qwen3", "vocab_size": 1024, "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
         "head_dim": 32, "intermediate_size": 384, "max_position_embeddings": 2048, "tie_word_embeddings": True, "initializer_range": 0.04}
MAX_TOKENS = 1024
ANSWER_TOKENS = 400


def run(*words):
    subprocess.run([str(word) for word in words], check=True, cwd=ROOT)


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def generated(arguments, path, seed, count):
    if not path.exists():
        run(arguments.program, "data", "generate", "--out", path, "--seed", seed, "--count", count, "--mix", "convert=1", "--max-depth", 2,
            "--max-elements", 65536, "--operators", ",".join(OPERATORS), "--template", "compact", "--strategy", "fused")
    return rows_of(path)


def is_unseen(row):
    """A tenth of the pairs of operators, chosen by hash."""
    made_of = row["labels"]["made_of"]
    return len(made_of) > 1 and hashlib.sha256(" ".join(made_of[:2]).encode()).digest()[0] < 26


def learn_tokenizer(texts):
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    out = Tokenizer(models.BPE())
    out.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(WORDS), "isolated"),
                                                 pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    out.decoder = decoders.ByteLevel()
    out.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=MODEL["vocab_size"], special_tokens=SPECIAL, show_progress=False, max_token_length=48,
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return out


def write_inputs(arguments, folder):
    """The model's folder, rows to learn from and to validate with, and the held-out problems as files."""
    rows = [row for row in generated(arguments, folder / "generated.jsonl", 1, arguments.rows) if not is_unseen(row)]
    others = generated(arguments, folder / "others.jsonl", 2, 12 * arguments.held_out + 3 * arguments.problems)
    model = folder / "model"
    model.mkdir(exist_ok=True)
    tokenizer = learn_tokenizer(message["content"] for row in rows[:4000] for message in row["messages"])
    tokenizer.save(str(model / "tokenizer.json"))
    (model / "tokenizer_config.json").write_text(json.dumps({"eos_token": SPECIAL[2], "pad_token": SPECIAL[0]}))
    (model / "config.json").write_text(json.dumps({**MODEL, "eos_token_id": tokenizer.token_to_id(SPECIAL[2])}))

    def length(row, message):
        return len(tokenizer.encode(row["messages"][message]["content"]).ids)

    def is_short(row):
        return "float16" not in row["messages"][0]["content"] and length(row, 1) < ANSWER_TOKENS and length(row, 0) + ANSWER_TOKENS < MAX_TOKENS
    sources = {row["problem"]["source"] for row in rows}
    short = [row for row in rows if is_short(row)]
    (folder / "rows.jsonl").write_text("".join(json.dumps({"messages": row["messages"]}) + "\n" for row in short))
    new = [row for row in others if row["problem"]["source"] not in sources and is_short(row)]
    (folder / "validation.jsonl").write_text("".join(json.dumps({"messages": row["messages"]}) + "\n" for row in new[-200:]))
    files = {}
    seen = [row for row in new if not is_unseen(row)]
    parts = {"seen": seen, "unseen": [row for row in new if is_unseen(row)], "train": seen[arguments.held_out:]}
    for part, count in (("seen", arguments.held_out), ("unseen", arguments.held_out // 4), ("train", arguments.problems)):
        (folder / part).mkdir(exist_ok=True)
        files[part] = []
        for number, row in enumerate(parts[part][:count]):
            files[part].append(folder / part / f"{part}_{number}.py")
            files[part][-1].write_text(row["problem"]["source"])
    tokens = [length(row, 1) for row in short[:1000]], [length(row, 0) for row in short[:1000]]
    return model, files, {"rows": len(rows), "short": len(short), "answer_tokens": sorted(tokens[0])[500], "prompt_tokens": sorted(tokens[1])[500]}


def checkpoint_of(folder):
    done = sorted(path.parent for path in (folder / "checkpoints").glob("step-*/DONE"))
    return done[-1] if done else None


def settings_of(values):
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def train(arguments, command, run_folder, config, values):
    done = checkpoint_of(run_folder)
    ranks = ["--ranks", arguments.ranks] if arguments.ranks > 1 else []
    run(arguments.trainer, command, "--config", ROOT / config, *ranks, *settings_of({**values, "run": run_folder}), *(["--resume"] if done else []))


def wilson(right, count):
    """The 95 % interval of a share."""
    z, share = 1.96, right / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return [middle - half, middle + half]


def pass_rates(evaluation):
    """Share of right answers by part; an answer that could not be judged is left out."""
    out = {}
    for part in ("seen", "unseen"):
        rewards = [value["reward"] for task, value in evaluation["tasks"].items() if task.startswith(part + "_") and value["reward"] is not None]
        if rewards:
            out[part] = {"pass": sum(rewards) / len(rewards), "problems": len(rewards), "interval": wilson(sum(rewards), len(rewards))}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sft-seconds", type=int, default=600)
    parser.add_argument("--rl-seconds", type=int, default=600)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--held-out", type=int, default=64)
    parser.add_argument("--problems", type=int, default=64, help="of training, for reinforcement learning")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2, help="processes that train together, a core each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="+", default=[])
    parser.add_argument("--program", default=ROOT / "build/dev/bin/kernelwright")
    parser.add_argument("--environment", default=ROOT / "build/dev/bin/kernelwright-environment")
    parser.add_argument("--trainer", default=ROOT / "build/torch/bin/kernelwright-train")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    model, files, data = write_inputs(arguments, folder)
    print(json.dumps(data), flush=True)
    if not checkpoint_of(folder / "sft"):
        train(arguments, "sft", folder / "sft", "configs/sft_kernels.toml",
              {"model": model, "data": folder / "rows.jsonl", "validation": folder / "validation.jsonl", "seconds": arguments.sft_seconds,
               "seed": arguments.seed})
    held_out = files["seen"] + files["unseen"]
    rl = folder / f"rl-{arguments.turns}-{arguments.seed}"
    train(arguments, "rl", rl, "configs/rl_tiny_kernels.toml",
          {"model": checkpoint_of(folder / "sft"), "seconds": arguments.rl_seconds, "seed": arguments.seed, "program": arguments.environment,
           "environment.problems": json.dumps([str(file) for file in files["train"] + held_out]), "held_out": json.dumps([file.stem for file in held_out]),
           "environment.turns": arguments.turns, "environment.verdicts": folder / "verdicts.jsonl",
           **dict(word.split("=", 1) for word in arguments.set)})
    evaluations, steps = rows_of(rl / "evaluations.jsonl"), rows_of(rl / "metrics.jsonl")
    sft = rows_of(folder / "sft/metrics.jsonl")
    result = {"data": data, "sft_steps": len(sft), "sft_tokens": sum(row.get("tokens", 0) for row in sft), "before": pass_rates(evaluations[0]),
              "after": pass_rates(evaluations[-1]), "rl_steps": len(steps), "rl_reward": [row["reward"] for row in steps]}
    (folder / f"result-{arguments.turns}-{arguments.seed}.json").write_text(json.dumps(result, indent=1) + "\n")
    for when in ("before", "after"):
        for part, one in result[when].items():
            low, high = one["interval"]
            print(f"{when}, pairs {part}: {100 * one['pass']:.0f} % ({100 * low:.0f} to {100 * high:.0f}) of {one['problems']} problems", flush=True)


if __name__ == "__main__":
    main()
