"""Writes unicode_tables.cc: what HF `tokenizers` takes for a letter, a number, white space, and its normalisation form C.

Its regular expressions and its normaliser follow different versions of Unicode, and neither is the system's. So the sets are asked of the library
itself, character by character; only the values of combining classes and the single steps of decompositions come from Python's unicodedata (they never
change once given). Run by hand, when tests/tokenizer says that a newer `tokenizers` answers differently.
usage: python make_unicode_tables.py > unicode_tables.cc    (needs `tokenizers`)
"""

import sys
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CHARACTERS = [code for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
LETTER, NUMBER, SPACE, WORD, NFC_CHECK = 1, 2, 4, 8, 16


def matching(pattern):
    splitter = pre_tokenizers.Split(Regex(pattern), "removed")
    found = set()
    for start in range(0, len(CHARACTERS), 4096):
        part = CHARACTERS[start : start + 4096]
        kept = set()
        for _, (begin, end) in splitter.pre_tokenize_str("".join(map(chr, part))):
            kept.update(range(begin, end))
        found.update(code for at, code in enumerate(part) if at not in kept)
    return found


def word_characters():
    """What keeps a `single_word` token from being found beside it."""
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    tokenizer.add_tokens([AddedToken("@#", single_word=True, normalized=False)])
    found = set()
    for start in range(0, len(CHARACTERS), 4096):
        part = CHARACTERS[start : start + 4096]
        seen = {begin for begin, _ in tokenizer.encode("".join(chr(code) + "@#!" for code in part)).offsets}
        found.update(code for at, code in enumerate(part) if 4 * at + 1 not in seen)
    return found


def normalisation():
    """(combining classes, pairs that compose, decompositions that do not compose)"""
    nfd, nfc = normalizers.NFD(), normalizers.NFC()
    combining, composed, decomposed = {0x345: 240}, [], []  # 0x345 has the highest class, so it shows which others have one
    for code in CHARACTERS:
        whole = nfd.normalize_str(chr(code))
        if whole != chr(code):
            if 0xAC00 <= code <= 0xD7A3:
                continue
            step = [int(part, 16) for part in unicodedata.decomposition(chr(code)).split()]
            back = len(step) == 2 and nfc.normalize_str(chr(code)) == chr(code)
            (composed if back else decomposed).append((code, *step, *([0] * (2 - len(step)))))
        elif nfd.normalize_str("\u0345" + chr(code))[0] == chr(code):
            combining[code] = unicodedata.combining(chr(code))
    return combining, composed, decomposed


def runs(value_of):
    out, previous = [], 0
    for code in CHARACTERS:
        value = value_of(code)
        if value != previous:
            out.append(code << 8 | value)
        previous = value
    return out


def table(kind, name, rows, to_text, per_line):
    print(f"constexpr {kind} {name}Rows[] = {{")
    for start in range(0, len(rows), per_line):
        print("    " + " ".join(to_text(row) + "," for row in rows[start : start + per_line]))
    print("};")
    print()


def main():
    letters, numbers, spaces = matching(r"\p{L}"), matching(r"\p{N}"), matching(r"\s")
    words = word_characters()
    combining, composed, decomposed = normalisation()
    seconds = {second for _, _, second in composed}
    check = set(combining) | {code for code, *_ in decomposed} | seconds | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))

    def class_of(code):
        flags = ((letters, LETTER), (numbers, NUMBER), (spaces, SPACE), (words, WORD), (check, NFC_CHECK))
        return sum(flag for members, flag in flags if code in members)

    print(f"// Properties of characters as HF tokenizers {tokenizers.__version__} has them; written by make_unicode_tables.py.")
    print('#include "lm/tokenizer/unicode_tables.h"\n')
    print("namespace kw::lm {\nnamespace {\n")
    print("// clang-format off")
    table("std::uint32_t", "kClassRuns", runs(class_of), lambda row: f"0x{row:X}", 9)
    table("std::uint32_t", "kCombiningRuns", runs(lambda code: combining.get(code, 0)), lambda row: f"0x{row:X}", 9)
    table("Decomposition", "kComposed", composed, lambda row: "{%s}" % ", ".join(f"0x{code:X}" for code in row), 4)
    table("Decomposition", "kDecomposed", decomposed, lambda row: "{%s}" % ", ".join(f"0x{code:X}" if code else "0" for code in row), 5)
    print("// clang-format on\n")
    print("}  // namespace\n")
    print("const std::span<const std::uint32_t> kClassRuns = kClassRunsRows;")
    print("const std::span<const std::uint32_t> kCombiningRuns = kCombiningRunsRows;")
    print("const std::span<const Decomposition> kComposed = kComposedRows;")
    print("const std::span<const Decomposition> kDecomposed = kDecomposedRows;\n")
    print("}  // namespace kw::lm")
    print(f"{len(letters)} letters, {len(numbers)} numbers, {len(combining)} combining, {len(composed)} + {len(decomposed)} decompositions", file=sys.stderr)


main()
