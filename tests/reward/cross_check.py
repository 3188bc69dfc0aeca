"""Rewards against Python: difflib's ratio, the format reward as regular expressions, the execution rewards as formulas.

usage: cross_check.py TOOL [--pairs N] [--seed N]
  TOOL: build/dev/bin/reward_tool   --pairs: of texts for difflib (default 20,000); half as many of the others each
exit: 0 equal; 1 not, with the first differences
"""

import argparse
import difflib
import json
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402
FAULTLESS = ("noisy", "quarantined", "unsupported")
OUTCOMES = ("passed", "compile_error", "wrong_shape", "wrong_dtype", "wrong_value", "runtime_error", "timeout", "memory_limit", "output_limit", "violation", *FAULTLESS)
def ask(tool, requests):
    text = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([tool], input=text, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"cross_check: exit {done.returncode}: {done.stderr.strip()}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(requests)
    return answers


# ---- difflib ----
def fibonacci(size):
    a, b = "a", "ab"
    while len(b) < size:
        a, b = b, b + a
    return b[:size]


def de_bruijn(letters, order):
    """Every word of the order once: the fewest repeats that a text can have."""
    word, out = [0] * (order + 1), []

    def extend(at, period):
        if at > order:
            if order % period == 0:
                out.extend(word[1 : period + 1])
            return
        word[at] = word[at - period]
        extend(at + 1, period)
        for symbol in range(word[at - period] + 1, len(letters)):
            word[at] = symbol
            extend(at + 1, at)

    extend(1, 1)
    return "".join(letters[symbol] for symbol in out)


def sources():
    files = sorted([*(ROOT / "src").rglob("*.cc"), *(ROOT / "python").rglob("*.py"), *(ROOT / "examples").rglob("*.py")])
    return "".join(file.read_text() for file in files)


class Texts:
    def __init__(self, rng):
        self.rng = rng
        self.code = sources()
        self.de_bruijn = de_bruijn("ab", 8), de_bruijn("ba", 8), de_bruijn("abc", 5), de_bruijn("cab", 5)

    def random(self, letters, most):
        return "".join(self.rng.choices(letters, k=self.rng.randint(0, most)))

    def cut(self, text, most):
        size = self.rng.randint(1, most)
        start = self.rng.randrange(max(1, len(text) - size))
        return text[start : start + size]

    def edited(self, text):
        """As one author's second version: pieces changed, moved, doubled, left out."""
        for _ in range(self.rng.randint(1, 8)):
            i, j = sorted(self.rng.randrange(len(text) + 1) for _ in range(2))
            piece = text[i : min(j, i + 40)]
            text = self.rng.choice((text[:i] + text[i + len(piece) :], text[:i] + piece + text[i:], text[:i] + piece.upper() + text[i + len(piece) :], text[i:] + text[:i]))
        return text

    def blocks(self, separator):
        order = list(range(1, self.rng.randint(2, 16)))
        if self.rng.random() < 0.5:
            self.rng.shuffle(order)
        letter = self.rng.choice(("a", None))
        return separator.join((letter or chr(0x4E00 + size)) * size for size in order)

    def pair(self):
        kind = self.rng.randrange(12)
        if kind == 0:
            return self.random("ab", 120), self.random("ab", 120)
        if kind == 1:
            return self.random("abc", 150), self.random("abc", 150)
        if kind == 2:
            letters = "".join(map(chr, range(0x61, 0x61 + self.rng.randint(1, 26))))
            return self.random(letters, 200), self.random(letters, 200)
        if kind == 3:
            text = self.cut(self.code, 350)
            return text, self.edited(text)
        if kind == 4:
            return self.cut(self.code, 350), self.cut(self.code, 350)
        if kind == 5:
            return "a" * self.rng.randint(0, 120), "a" * self.rng.randint(0, 120) + self.random("ab", 4)
        if kind == 6:
            word = self.random("abcd", 5) or "a"
            return (word * 60)[self.rng.randrange(9) :][: self.rng.randint(1, 150)], (word[::-1] * 60)[: self.rng.randint(1, 150)]
        if kind == 7:
            return self.blocks("x"), self.blocks("y")
        if kind == 8:
            return self.cut(fibonacci(200), 200), self.cut(fibonacci(200)[::-1], 200)
        if kind == 9:
            return self.cut(self.rng.choice(self.de_bruijn), 150), self.cut(self.rng.choice(self.de_bruijn), 150)
        if kind == 10:
            many = "aé€😀\u0301\x00\U0010ffff"
            return self.random(many, 80), self.random(many, 80)
        text = "".join(map(chr, self.rng.sample(range(0x4E00, 0x4E80), self.rng.randint(1, 60))))
        return text, "".join(symbol + self.random("xy", 2) for symbol in self.edited(text))

    def long_pairs(self):
        """Of the length of whole files: code with another file, with its own second version, and a text that repeats itself."""
        start = self.rng.randrange(len(self.code) - 20_000)
        code = self.code[start : start + 8000]
        return [(code, self.code[start + 8000 : start + 20_000]), (code, self.edited(code)), (fibonacci(1500), fibonacci(2000)[::-1])]


def utf8(text):
    return text.encode("utf-8", "surrogateescape")


def check_similarity(tool, rng, pairs):
    texts = Texts(rng)
    cases = [tuple(map(utf8, texts.pair())) for _ in range(pairs - pairs // 20)]
    cases += [tuple(map(utf8, pair)) for pair in texts.long_pairs()]
    # Any bytes: what is not UTF-8 counts as surrogateescape has it.
    for _ in range(pairs // 20):
        cases.append(tuple(bytes(rng.choices(b"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0\xff", k=rng.randint(0, 40))) for _ in range(2)))
    answers = ask(tool, [{"do": "similarity", "a": a.hex(), "b": b.hex()} for a, b in cases])
    for (a, b), answer in zip(cases, answers):
        a, b = (text.decode("utf-8", "surrogateescape") for text in (a, b))
        ratio = difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
        expect(answer["ratio"] == ratio, f"{answer['ratio']} instead of {ratio}: {a!r} {b!r}")
    return len(cases)


# ---- format ----
def format_of(completion, end_of_text):
    text = "<think>" + completion
    if end_of_text and completion.endswith(end_of_text):
        text = text[: -len(end_of_text)]
    match = re.match(r"<think>((?:(?!</?think>)[\s\S])*)</think>([\s\S]*)\Z", text)
    if not match:
        return 0.0, None
    thinking, tail = match.groups()
    block = re.search(r"```(.*?)```", tail, re.DOTALL)
    code = None
    if block:
        code = block.group(1).strip()
        if code.startswith("python"):
            code = code[len("python") :].strip()
    if not thinking.strip():
        return 0.0, code
    return (1.0 if code else 0.5), code


def check_format(tool, rng, count):
    pieces = ["<think>", "</think>", "</think>", "<answer>", "</answer>", "```", "```", "```python\n", "```triton", "`", "python", "Python", " ", "\n", "\x1c", "\u3000", "x = 1\n", "a < b", "<", "</", "é", "<eos>", "\udcff"]
    cases = []
    for _ in range(count):
        oracle = "".join(rng.choices(pieces, k=rng.randint(0, 3)))
        cases.append(("".join(rng.choices(pieces, k=rng.randint(0, 14))), rng.choice(("", "<eos>", "</think>")), oracle))
    answers = ask(tool, [{"do": "format", "completion": utf8(c).hex(), "end_of_text": utf8(e).hex(), "oracle": utf8(o).hex()} for c, e, o in cases])
    for (completion, end_of_text, oracle), answer in zip(cases, answers):
        reward, code = format_of(completion, end_of_text)
        similarity = difflib.SequenceMatcher(None, code, oracle, autojunk=False).ratio() if code and oracle else 0.0
        theirs = reward, None if code is None else utf8(code).hex(), reward + similarity
        ours = answer["reward"], answer["code"], answer["sum"]
        expect(ours == theirs, f"{ours} instead of {theirs}: {completion!r} {end_of_text!r}")
    return count


# ---- execution ----
def rewards_of(case):
    outcome, weights = case["outcome"], case["weights"]
    correct = outcome == "passed"
    speedups = case["speedup"] if correct and case["speedup"] else (0.0, 0.0)
    speed = speedups[1 if case["low"] else 0]
    coverages = case["coverage"] if correct and case["coverage"] else (0.0, 0.0)
    cover = coverages[1 if case["by_count"] else 0]
    extracted, compiled, ran, shape, right, factor, most, names, penalty, threshold, softness = weights
    stage = {None: 0, "compile_error": 1, "violation": 1, "runtime_error": 2, "timeout": 2, "memory_limit": 2, "output_limit": 2, "wrong_shape": 3, "wrong_dtype": 3, "wrong_value": 4, "passed": 5}.get(outcome, 0)
    violation = outcome == "violation"
    failed = outcome in (None, "violation", "timeout", "memory_limit", "output_limit")

    def staged(layers, speed_weight, speed_value, name_weight, violation_value):
        if violation:
            return violation_value
        return sum(layers[:stage]) + speed_weight * speed_value + name_weight * case["names"]

    def kevin(base, speed_value, violation_value):
        return violation_value if violation else (base + speed_value if correct else 0.0)

    def gym(c, s, v, speed_value, covered, failure):
        return failure if failed else c * correct + s * speed_value + v * covered

    clipped = min(speed, most)
    steps = next((value for bound, value in ((3, 1.0), (2, 0.8), (1.5, 0.6), (1.2, 0.4), (1, 0.2)) if speed >= bound), -0.1)
    keep = 1.0
    if correct and case["coverage"]:
        keep = min(max((cover - threshold) / softness, 0.0), 1.0) if softness > 0 else float(cover >= threshold)
    rewards = {
        "staged": staged([extracted, compiled, ran, shape, right], factor, clipped, names, penalty),
        "staged_default": staged([0, 0, 2, 0, 1], 1, min(speedups[0], 1), 0.5, 0),
        "kevin": kevin(extracted, clipped, penalty),
        "kevin_default": kevin(0.3, speedups[0], 0.0),
        "kernelgym": gym(extracted, compiled, ran, 0.0 if clipped < shape else clipped, cover, penalty),
        "kernelgym_default": gym(0.5, 0.5, 0.5, min(speedups[0], 3.0), coverages[0], 0.0),
        "threshold": gym(extracted, compiled, ran, float(correct and speed >= names), cover, penalty),
        "steps": -1.0 if failed else -0.5 if outcome == "compile_error" else steps if correct else -0.3,
    }
    if outcome in FAULTLESS:
        rewards = dict.fromkeys(rewards)
    return {**rewards, "keep": keep}


def check_execution(tool, rng, count):
    cases = []
    for _ in range(count):
        median = rng.choice((rng.uniform(0.05, 1.5), rng.uniform(1, 40), 1.0, 1.01, 1.2, 3.0))
        outcome = rng.choice((None, "passed", "passed", "passed", *OUTCOMES))
        cases.append({
            "do": "execution",
            "outcome": outcome,
            "speedup": rng.choice((None, [median, median * rng.uniform(0.8, 1), median * rng.uniform(1, 1.3)])),
            "coverage": rng.choice((None, [rng.random(), rng.random()])),
            "names": rng.random(),
            "low": rng.random() < 0.5,
            "by_count": rng.random() < 0.5,
            "weights": [rng.choice((0.0, 0.5, rng.uniform(-2, 2))) for _ in range(6)] + [rng.uniform(0.5, 5), rng.uniform(0, 2), rng.uniform(-2, 0), rng.random(), rng.choice((0.0, rng.random()))],
        })  # fmt: skip
    for case, answer in zip(cases, ask(tool, cases)):
        theirs = rewards_of(case)
        for name, value in theirs.items():
            same = answer[name] is None if value is None else answer[name] is not None and abs(answer[name] - value) <= 1e-12 * max(1, abs(value))
            expect(same, f"{name}: {answer[name]} instead of {value}: {case}")
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print(f"similarity: {check_similarity(options.tool, rng, options.pairs)} pairs")
    print(f"format: {check_format(options.tool, rng, options.pairs // 2)} completions")
    print(f"execution: {check_execution(options.tool, rng, options.pairs // 2)} findings")
    print(f"{expectations.failures} different")
    return expectations.exit_code()


sys.exit(main())
