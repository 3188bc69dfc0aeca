"""Milliseconds of the similarity reward's ratio on one core, beside CPython's difflib on the pairs that it can do; ratios must be equal.

Pairs of 8,000 and 12,000 characters: code of this repository, and texts that are hard for one method or another.
usage: similarity.py [--tool build/dev/bin/reward_tool] [--rounds N] [--difflib SECONDS]
  --difflib: time Python too, each pair for so long at most
"""

import argparse
import difflib
import json
import pathlib
import random
import signal
import subprocess
import sys
import time

from common import median

ROOT = pathlib.Path(__file__).resolve().parent.parent
A, B = 8_000, 12_000


def repeated(word, size):
    return (word * (size // len(word) + 1))[:size]


def fibonacci(size):
    a, b = "a", "ab"
    while len(b) < size:
        a, b = b, b + a
    return b[:size]


def thue_morse(size):
    return "".join("ab"[bin(i).count("1") % 2] for i in range(size))


def de_bruijn(order):
    """Of two letters, by the prefer-largest rule."""
    seen, out = {"a" * order}, "a" * order
    while True:
        for letter in "ba":
            word = out[-order + 1 :] + letter
            if word not in seen:
                seen.add(word)
                out += letter
                break
        else:
            return out


def blocks(separator, size, letter=None):
    """Blocks of falling lengths: the deepest chain of ranges that fits."""
    lengths = range(int((2 * size) ** 0.5) - 1, 0, -1)
    first = {length: 0x4E00 + sum(range(length + 1, lengths[0] + 1)) for length in lengths}
    parts = (letter * length if letter else "".join(chr(first[length] + i) for i in range(length)) for length in lengths)
    return separator.join(parts)


def pairs(rng):
    code = "".join(file.read_text() for file in sorted((ROOT / "src").rglob("*.cc")))

    def cut(size):
        start = rng.randrange(len(code) - size)
        return code[start : start + size]

    for number in range(3):
        yield f"two places of the sources ({number + 1})", cut(A), cut(B)
    version = cut(B)
    edited = list(version[:A])
    for _ in range(400):
        edited[rng.randrange(A)] = rng.choice("abc;() ")
    yield "a second version", "".join(edited), version
    yield "one letter", "a" * A, "a" * B
    yield "one letter, cut every 100", "a" * A, repeated("a" * 99 + "b", B)
    for letters in (2, 4, 26):
        alphabet = [chr(97 + i) for i in range(letters)]
        yield f"random, {letters} letters", "".join(rng.choices(alphabet, k=A)), "".join(rng.choices(alphabet, k=B))
    yield "period 2, shifted", repeated("ab", A), repeated("ba", B)
    yield "periods 7 and 8", repeated("aaaaaab", A), repeated("aaaaaaab", B)
    order = de_bruijn(14)
    yield "de Bruijn, reversed", order[:A], order[::-1][:B]
    yield "Fibonacci, reversed", fibonacci(A), fibonacci(B)[::-1]
    yield "Thue-Morse, inverted", thue_morse(A), thue_morse(B).translate({97: "b", 98: "a"})
    permutation = "".join(chr(0x4E00 + i) for i in range(A))
    yield "no repeats, spread", permutation[: B // 2], "".join(c + "x" for c in permutation[: B // 2])
    yield "no repeats, reversed", permutation, permutation[::-1]
    yield "falling blocks", blocks("x", A - 100), blocks("y", A - 100)
    yield "falling blocks of one letter", blocks("x", A - 100, "a"), blocks("y", A - 100, "a")
    yield "falling blocks, reversed", blocks("x", A - 100), blocks("y", A - 100)[::-1]


class TooLong(Exception):
    pass


def give_up(*_):
    raise TooLong


def python_ratio(a, b, seconds):
    """(ratio, milliseconds); no ratio when it took longer."""
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    start = time.perf_counter()
    try:
        ratio = difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
    except TooLong:
        ratio = None
    signal.alarm(0)
    return ratio, 1000 * (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default=str(ROOT / "build/dev/bin/reward_tool"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--difflib", type=int, default=0)
    options = parser.parse_args()
    cases = list(pairs(random.Random(1)))
    lines = "".join(json.dumps({"do": "similarity", "a": a.encode().hex(), "b": b.encode().hex(), "rounds": options.rounds}) + "\n" for _, a, b in cases)
    done = subprocess.run([options.tool], input=lines, capture_output=True, text=True, check=True)
    different = 0
    for (name, a, b), line in zip(cases, done.stdout.splitlines()):
        answer = json.loads(line)
        text = f"{name:<32} {len(a):>6} x {len(b):<6} ratio {answer['ratio']:.4f}  {median(answer['ms']):8.2f} ms (slowest {max(answer['ms']):.2f})"
        if options.difflib:
            ratio, theirs = python_ratio(a, b, options.difflib)
            different += ratio is not None and ratio != answer["ratio"]
            known = "=" if ratio is not None else ">"
            text += f"  difflib {known} {theirs:.0f} ms, {theirs / median(answer['ms']):.0f} times" + ("" if ratio in (None, answer["ratio"]) else f"  DIFFERENT: {ratio}")
        print(text, flush=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
