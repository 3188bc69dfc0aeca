"""Strings to tokenize: slices of this repository, and generated ones that aim at the corners of pre-tokenizers, normalisers and merges."""

import pathlib
import random
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {".cc", ".h", ".py", ".md", ".json", ".txt", ".cmake", ".toml"}

SCRIPTS = [(0x4E00, 0x9FFF), (0x3040, 0x30FF), (0xAC00, 0xD7A3), (0x400, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0xEFF), (0x1100, 0x11FF),
           (0x1F300, 0x1FAFF), (0x20000, 0x2EBEF), (0x30000, 0x323AF), (0x300, 0x36F), (0x1AB0, 0x1AFF), (0x2000, 0x206F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF),
           (0xA0, 0x24F), (0x370, 0x3FF), (0x1E00, 0x1FFF), (0x2460, 0x24FF), (0xF900, 0xFAFF), (0x1D15E, 0x1D1C0), (0x11000, 0x11FFF), (0x10000, 0x10FFFF)]
SPACES = [" ", "  ", "\n", "\r", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", "\u180e", "\u200b", "\x0b", "\x0c", "\x85", "\x1c", "\u1680", "\u205f"]
CONTRACTIONS = ["'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'LL", "'ll", "'d", "'\u017f", "'K", "'", "''", "\u2019s", "'l", "'r", "'sa", "'\u212a"]
NUMBERS = ["1", "12", "123", "1234567", "3.14", "\u00b2", "\u0663\u0664", "\u2167", "\u4e00", "1_000", "0x1F", "\u00bd", "\U0001d7d9"]
EMOJI = ["\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "\U0001f44d\U0001f3fd", "\U0001f3f4\U000e0067\U000e0062\U000e007f", "#\ufe0f\u20e3"]
NORMALISED = ["e\u0301", "\u00e9", "A\u030a", "\u212b", "\u1112\u1161\u11ab", "\uac00\u11a8", "q\u0307\u0323", "\u0958", "\u2126", "\ufb01", "a\u0315\u0300\u05ae\u0062", "\u0344", "\u1e9b\u0323", "\u0f43",
              "\u11935\u0000", "\U00011935\U00011930", "\u09c7\u09be", "\u0cc6\u0cc2\u0cd5", "\u0b92\u0bd7"]


def corpus(most_bytes):
    """Texts of the repository's files, in a fixed order."""
    texts, total = [], 0
    for folder in ("src", "docs", "python", "apps", "tests/cli", "bench", "examples", "problems"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and total < most_bytes:
                text = path.read_text(encoding="utf-8", errors="replace")[:100_000]
                texts.append(text)
                total += len(text)
    return texts


def character(rng):
    if rng.random() < 0.3:
        return chr(rng.randrange(0x20, 0x7F))
    while True:
        low, high = rng.choice(SCRIPTS)
        code = rng.randint(low, high)
        if not 0xD800 <= code <= 0xDFFF:
            return chr(code)


def scramble(rng, special):
    """A few pieces of different kinds next to one another."""
    kinds = (
        lambda: rng.choice(SPACES) * rng.choice((1, 1, 1, 2, 3, 9)),
        lambda: rng.choice(CONTRACTIONS),
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(EMOJI),
        lambda: rng.choice(NORMALISED),
        lambda: "".join(character(rng) for _ in range(rng.randrange(1, 8))),
        lambda: "".join(rng.choice("abcdeEFtsr") for _ in range(rng.randrange(1, 9))),
        lambda: "".join(rng.choice("!?.,;:()[]{}<>|=+-*/\\\"'`~@#$%^&_") for _ in range(rng.randrange(1, 6))),
        lambda: rng.choice(special),
        lambda: rng.choice(special)[: rng.randrange(1, 6)],
    )
    return "".join(rng.choice(kinds)() for _ in range(rng.randrange(1, 9)))


def strings(texts, count, special, seed):
    rng = random.Random(seed)
    out = ["", " ", "\n", "a", "\u0301", "\x00", "\ufffd", "a" * 5000, " " * 3000, "ab" * 400 + " " + "\u4e2d" * 700, "=" * 999, "1" * 500, "\n" * 400 + "x", "\u0301" * 300]
    joined = "\n".join(texts)
    while len(out) < count:
        choice = rng.random()
        if choice < 0.35:
            start = rng.randrange(len(joined))
            out.append(joined[start : start + rng.choice((5, 20, 60, 200))])
        elif choice < 0.38:
            start = rng.randrange(len(joined))
            piece = list(joined[start : start + 60])
            for _ in range(4):
                piece.insert(rng.randrange(len(piece) + 1), character(rng))
            out.append("".join(piece))
        elif choice < 0.40:  # one long word
            out.append("".join(rng.choice("etaoinshr") for _ in range(rng.randrange(80, 400))))
        elif choice < 0.45:
            out.append(unicodedata.normalize("NFD", scramble(rng, special)))
        else:
            out.append(scramble(rng, special))
    return out


def every_character():
    """Each character that Unicode has or may soon have, beside a letter, a digit, a space, itself and a mark."""
    codes = [code for code in (*range(0x32400), *range(0xE0000, 0xE0200), *range(0xF0000, 0xF0010)) if not 0xD800 <= code <= 0xDFFF]
    units = [f"{c}a{c}1 {c}{c}\u0301" for c in map(chr, codes)]
    return ["".join(units[start : start + 50]) for start in range(0, len(units), 50)]


def damaged(strings_, count, seed):
    """Bytes that are not all UTF-8."""
    rng = random.Random(seed)
    out = []
    for text in rng.sample(strings_, min(count, len(strings_))):
        data = bytearray(text.encode())
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data) + 1)
            if rng.random() < 0.5 and data:
                del data[at % len(data)]
            else:
                data.insert(at, rng.choice((0x80, 0xBF, 0xC0, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, 0xF5, 0xFF, 0xA0)))
        out.append(bytes(data))
    return out
