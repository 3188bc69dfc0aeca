"""Megabytes a second of encoding and decoding on one thread: ours and HF `tokenizers`, on code and on text of many scripts.

Both get the same tokenizer.json and texts (the files of this repository), in turns in one run; tokens and decoded texts must be equal. Ratios are of medians.
usage: tokenizer.py [--tool build/dev/bin/tokenizer_tool] [--folder FOLDER] [--rounds N]    (needs `tokenizers`)
  --folder: with a tokenizer.json; default: a Qwen-like one of 32,000 tokens, learnt from this repository's sources
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/tokenizer"))
import strings as inputs
from tokenizers import Tokenizer


def measure_theirs(tokenizer, texts, rounds):
    encode, decode = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        encode.append(time.perf_counter() - start)
        start = time.perf_counter()
        back = [tokenizer.decode(part) for part in ids]
        decode.append(time.perf_counter() - start)
    return ids, back, encode, decode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default=str(ROOT / "build/dev/bin/tokenizer_tool"))
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    code = inputs.corpus(3_000_000)
    many = inputs.strings(code, 30_000, ["<"], 11)
    many = ["".join(many[start : start + 100]) for start in range(0, len(many), 100)]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        folder = options.folder
        if folder is None:
            folder = scratch
            start = time.perf_counter()
            lines = "".join(json.dumps(text) + "\n" for text in (*code, *many))
            subprocess.run([options.tool, "train", str(folder), "qwen", "32000", "1"], input=lines, text=True, check=True)
            print(f"trained 32,000 tokens on {len(lines) / 1e6:.1f} MB in {time.perf_counter() - start:.1f} s")
        theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
        for name, texts in (("code", code), ("many scripts", many)):
            size = sum(len(text.encode()) for text in texts) / 1e6
            lines = "".join(json.dumps(text) + "\n" for text in texts)
            ours_encode, ours_decode, their_encode, their_decode = [], [], [], []
            for _ in range(options.rounds):
                out = subprocess.run([options.tool, "bench", str(folder), "3"], input=lines, capture_output=True, text=True, check=True)
                ours = json.loads(out.stdout)
                ids, back, encode, decode = measure_theirs(theirs, texts, 2)
                if ours["ids"] != ids or ours["texts"] != back:
                    sys.exit(f"{name}: tokens or texts differ")
                ours_encode += ours["encode_s"]
                ours_decode += ours["decode_s"]
                their_encode += encode
                their_decode += decode
            for what, mine, other in (("encode", ours_encode, their_encode), ("decode", ours_decode, their_decode)):
                mine, other = statistics.median(mine), statistics.median(other)
                print(f"{what} {name}: {size / mine:.1f} MB/s, HF {size / other:.1f} MB/s, ratio {other / mine:.1f} ({size:.1f} MB in {len(texts)} texts)")
        print(f"load: {ours['load_s']:.3f} s")


if __name__ == "__main__":
    main()
