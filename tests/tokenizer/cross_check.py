"""Our tokenizer against HF `tokenizers` and transformers: tokens, decoded text, stop strings, trained vocabularies and chat templates must be equal.

usage: cross_check.py TOOL [--strings N] [--family-strings N] [--only FAMILY ...] [--seed N] [--folder FOLDER]...
  TOOL: build/dev/bin/tokenizer_tool   --strings: for all tokenizers together (default 120,000)
  --folder: a folder with a real model's tokenizer.json, compared as well; its chat template too
exit: 0 equal; 1 not, with the first differences; 77 without `tokenizers` and transformers (1 with KW_REQUIRE_TOKENIZERS set)
"""

import argparse
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402
try:
    import tokenizers
    import transformers
except ImportError as error:
    print(f"cross_check: {error}", file=sys.stderr)
    sys.exit(1 if "KW_REQUIRE_TOKENIZERS" in os.environ else 77)
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import jinja2

import strings as inputs
from chat_templates import TEMPLATES

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
MARKS = QWEN.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")  # known to PCRE2 only
QWEN_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|fim_prefix|>"]
LLAMA_SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
TEMPLATE_FOLDER = pathlib.Path(__file__).parent / "templates"

def ask(tool, folder, requests):
    text = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([tool, "serve", str(folder)], input=text, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"cross_check: {folder}: exit {done.returncode}: {done.stderr.strip()}")
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert len(answers) == len(requests)
    return answers


def byte_level(regex):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(regex), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def trained(texts, pre_tokenizer, vocab, special, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab, min_frequency=2, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


def save(folder, tokenizer, change=None, config=None):
    folder.mkdir()
    document = json.loads(tokenizer.to_str())
    if change:
        change(document)
    (folder / "tokenizer.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def qwen(texts, folder):
    """NFC, special tokens behind the vocabulary, as Qwen 2 and 3; merges in the older form."""
    tokenizer = trained(texts, byte_level(QWEN), 16000, [], normalizers.NFC())
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in QWEN_SPECIAL])
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False),
                          AddedToken("Ång\u0301", normalized=True), AddedToken("return", normalized=False, single_word=True),
                          AddedToken("<mask>", normalized=False, lstrip=True), AddedToken("<sep>", normalized=False, rstrip=True),
                          AddedToken(" two words ", normalized=False)])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)

    def older(document):
        document["model"]["merges"] = [" ".join(merge) for merge in document["model"]["merges"]]

    return save(folder, tokenizer, older)


def llama3(texts, folder):
    """ignore_merges, begin-of-text by the post-processor. Some merges are gone: their tokens are only found as whole words."""
    tokenizer = trained(texts, byte_level(LLAMA3), 8000, [])
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in LLAMA_SPECIAL])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|> $B", special_tokens=[("<|begin_of_text|>", begin)])])
    rng = random.Random(3)

    def fewer(document):
        document["model"]["ignore_merges"] = True
        document["model"]["merges"] = [merge for merge in document["model"]["merges"] if rng.random() < 0.97]

    return save(folder, tokenizer, fewer, {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"})


def gpt2(texts, folder):
    tokenizer = trained(texts, pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True), 6000, ["<|endoftext|>"])
    return save(folder, tokenizer)


def marks(texts, folder):
    return save(folder, trained(texts, byte_level(MARKS), 6000, ["<|endoftext|>"], normalizers.NFC()))


def without_some_bytes(document):
    """As SmolLM2 and StarCoder: bytes that the training text has not are not in the vocabulary."""
    letters = pre_tokenizers.ByteLevel.alphabet()
    vocab, merges = document["model"]["vocab"], document["model"]["merges"]
    used = {letter for merge in merges for letter in "".join(merge)}
    unused = sorted(set(letters) & set(vocab) - used)
    assert len(unused) > 20
    for letter in unused:
        del vocab[letter]


def smollm2(texts, folder):
    tokenizer = trained(texts, pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]), 6000,
                        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>"])
    return save(folder, tokenizer, without_some_bytes)


def starcoder(texts, folder):
    tokenizer = trained(texts, pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]), 5000,
                        ["<|endoftext|>", "<fim_prefix>", "<fim_suffix>", "<file_sep>"])

    def unknown(document):
        without_some_bytes(document)
        document["model"]["unk_token"] = "<|endoftext|>"

    return save(folder, tokenizer, unknown)


CJK = "[一-龥\u3040-ゟ゠-ヿ]+"
WORDS = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def deepseek(texts, folder):
    """V3: numbers, Chinese and Japanese, then words, each a Split of its own."""
    steps = [pre_tokenizers.Split(Regex(regex), "isolated") for regex in (r"\p{N}{1,3}", CJK, WORDS)]
    tokenizer = trained(texts, pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), 6000, [], normalizers.Sequence([]))
    tokenizer.add_special_tokens([AddedToken("<\uff5cbegin\u2581of\u2581sentence\uff5c>", normalized=False, special=True)])
    tokenizer.add_tokens([AddedToken("<\uff5cUser\uff5c>", normalized=False), AddedToken("<think>", normalized=False)])
    return save(folder, tokenizer)


def deepseek_coder(texts, folder):
    steps = [pre_tokenizers.Split(Regex(regex), "isolated") for regex in (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+")]
    tokenizer = trained(texts, pre_tokenizers.Sequence([*steps, pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
                        5000, ["<|EOT|>"])
    return save(folder, tokenizer)


def sentence_pieces(texts, pre_tokenizer, normalizer, steps, vocab, byte_tokens=True):
    """BPE of characters with "<0xNN>" for the others."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=byte_tokens))
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = steps
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"] + [f"<0x{byte:02X}>" for byte in range(256) if byte_tokens]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=vocab, min_frequency=2, special_tokens=special, limit_alphabet=300, show_progress=False))

    def plain_bytes(document):
        document["added_tokens"] = [token for token in document["added_tokens"] if not token["content"].startswith("<0x")]

    return tokenizer, plain_bytes


def lines_of(texts):
    """Words of SentencePiece's models run over spaces: shorter texts are learnt from in less time."""
    return [line[:120] for text in texts for line in text.splitlines()[:400]]


def gemma(texts, folder):
    steps = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer, change = sentence_pieces(lines_of(texts), pre_tokenizers.Split(" ", "merged_with_previous"), normalizers.Replace(" ", "\u2581"), steps, 2500)
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("\u2581\u2581", normalized=False), AddedToken("<table>", normalized=False)])
    begin = tokenizer.token_to_id("<bos>")
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", begin)])
    return save(folder, tokenizer, change)


def llama2(texts, folder):
    steps = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer, change = sentence_pieces(lines_of(texts), pre_tokenizers.Metaspace(prepend_scheme="first", split=False), None, steps, 2000)
    return save(folder, tokenizer, change)


def metaspace(texts, folder):
    tokenizer, change = sentence_pieces(lines_of(texts), pre_tokenizers.Metaspace(), None, decoders.Metaspace(), 2000, byte_tokens=False)
    return save(folder, tokenizer, change)


# Bytes and digits follow no Unicode version; the others have expressions that PCRE2 matches with the system's.
FAMILIES = {"smollm2": (smollm2, True), "starcoder": (starcoder, True), "gemma": (gemma, True), "llama2": (llama2, True), "metaspace": (metaspace, True),
            "deepseek": (deepseek, False), "deepseek_coder": (deepseek_coder, False)}


def check_tokens(tool, folder, texts, count, seed, keep=lambda text: True, more=()):
    theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs.no_truncation()
    theirs.no_padding()
    special = [token.content for token in theirs.get_added_tokens_decoder().values()]
    all_strings = [text for text in inputs.strings(texts, count, special, seed) if keep(text)]
    all_strings += more
    rng = random.Random(seed)
    requests, wanted = [], []
    for text in all_strings:
        add = rng.random() < 0.5
        requests.append({"op": "encode", "text": text, "add_special": add})
        wanted.append(theirs.encode(text, add_special_tokens=add).ids)
    for data in inputs.damaged(all_strings, count // 20, seed):
        requests.append({"op": "encode", "hex": data.hex(), "add_special": False})
        wanted.append(theirs.encode(data.decode("utf-8", "replace"), add_special_tokens=False).ids)
    theirs.encode_special_tokens = True
    for text in all_strings[: count // 20]:
        requests.append({"op": "encode", "text": text, "parse_special": False})
        wanted.append(theirs.encode(text).ids)
    theirs.encode_special_tokens = False
    for request, ids, answer in zip(requests, wanted, ask(tool, folder, requests)):
        expect(answer.get("ids") == ids, f"{folder.name}: {request}: {answer}, not {ids}")
    encoded = len(requests)

    size = theirs.get_vocab_size()
    decode = []
    for ids in rng.sample(wanted, min(count // 4, len(wanted))):
        if rng.random() < 0.5:  # tokens that do not follow one another: cut characters
            ids = [rng.randrange(size + 3) for _ in range(rng.randrange(12))]
        decode.append({"op": "decode", "ids": ids, "skip_special": rng.random() < 0.5})
    for request, answer in zip(decode, ask(tool, folder, decode)):
        text = theirs.decode(request["ids"], skip_special_tokens=request["skip_special"])
        expect(answer["text"] == text, f"{folder.name}: {request}: {answer}, not {text!r}")
    check_stops(tool, folder, theirs, rng.sample(decode, min(len(decode), 4000)), rng)
    print(f"{folder.name}: {encoded} encoded, {len(decode)} decoded, {min(len(decode), 4000)} streamed")


def first_stop(text, stops):
    """(index, where it begins) of the stop string that is complete first, of those the longest."""
    ends = [(text.find(stop) + len(stop), text.find(stop), index) for index, stop in enumerate(stops) if stop in text]
    return min(ends)[2:0:-1] if ends else (None, len(text))


def check_stops(tool, folder, theirs, decode, rng):
    requests = []
    for request in decode:
        text = theirs.decode(request["ids"], skip_special_tokens=request["skip_special"])
        stops = []
        for _ in range(rng.randrange(4)):
            start = rng.randrange(len(text) + 1)
            stops.append(text[start : start + rng.randrange(1, 6)] or "stop")
        requests.append({"op": "stream", "ids": request["ids"], "skip_special": request["skip_special"], "stop": stops})
    for request, answer in zip(requests, ask(tool, folder, requests)):
        text = theirs.decode(request["ids"], skip_special_tokens=request["skip_special"])
        index, end = first_stop(text, request["stop"])
        same = "pieces" in answer and "".join(answer["pieces"]) == text[:end]
        same = same and (answer["stop"] is None) == (index is None) and (index is None or request["stop"][answer["stop"]] == request["stop"][index])
        expect(same, f"{folder.name}: {request}: {answer}, not {text[:end]!r}, {index}")


def check_trainer(tool, scratch, texts, name, regex, vocab, nfc):
    folder = scratch / f"ours_{name}"
    folder.mkdir()
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    subprocess.run([tool, "train", str(folder), name, str(vocab), str(int(nfc))], input=lines, check=True, text=True)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    pre_tokenizer = byte_level(regex) if regex else pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    theirs = json.loads(trained(texts, pre_tokenizer, vocab, special, normalizers.NFC() if nfc else None).to_str())
    ours = json.loads((folder / "tokenizer.json").read_text())
    same = sum(a == b for a, b in zip(ours["model"]["merges"], theirs["model"]["merges"]))
    expect(ours["model"]["merges"] == theirs["model"]["merges"], f"trained {name}: {same} of {len(theirs['model']['merges'])} merges are equal")
    expect(ours["model"]["vocab"] == theirs["model"]["vocab"], f"trained {name}: vocabularies differ")
    print(f"{folder.name}: {len(ours['model']['merges'])} merges as HF's trainer")
    loaded = transformers.AutoTokenizer.from_pretrained(str(folder))
    plain = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in texts[:50]:
        expect(loaded.encode(text[:2000]) == plain.encode(text[:2000]).ids, f"trained {name}: transformers encodes differently")
    return folder


def conversations(rng, count):
    contents = ["Hi", "", " ", "\n\nWhy?\n", "  two\u3000 ", "\x1c x \x85", "<think>\nfirst\n</think>\n\nthen", "a</think>b</think>\n\nc", "<think>\n\n</think>\n\n", "<think>open", "</think>",
                "<tool_response>\n1\n</tool_response>", "{{ messages }}", "<|im_end|>", "\u4f60\u597d\U0001f44d", "def f():\n    return 1\n", "trailing  ", "You are Qwen."]
    for _ in range(count):
        messages = []
        if rng.random() < 0.4:
            messages.append({"role": "system", "content": rng.choice(contents)})
        for _ in range(rng.randrange(1, 6)):
            messages.append({"role": rng.choice(("user", "assistant", "user", "system")), "content": rng.choice(contents)})
        yield messages


def check_template(tool, folder, label, jinja, seed, count=3000):
    """folder has the template: prompts are equal, or refused by both."""
    config = json.loads((folder / "tokenizer_config.json").read_text())
    special = {key: value["content"] if isinstance(value, dict) else value for key, value in config.items() if key in ("bos_token", "eos_token", "unk_token", "pad_token")}
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), chat_template=jinja, **special)
    rng = random.Random(seed)
    requests, wanted = [], []
    for messages in conversations(rng, count):
        end = rng.choice(("nothing", "generation", "continue"))
        arguments = {"enable_thinking": rng.random() < 0.3} if rng.random() < 0.5 else {}
        if rng.random() < 0.5 or "strftime_now" in jinja:
            arguments["date_string"] = "01 Feb 2025"
        try:
            text = theirs.apply_chat_template(copy.deepcopy(messages), tokenize=False, add_generation_prompt=end == "generation",
                                              continue_final_message=end == "continue", **arguments)
        except (ValueError, TypeError, jinja2.exceptions.TemplateError):
            text = None
        requests.append({"op": "render", "messages": messages, "end": end, "arguments": arguments})
        wanted.append(text)
    for request, text, answer in zip(requests, wanted, ask(tool, folder, requests)):
        expect(answer.get("text") == text, f"template {label}: {request}: {answer}, not {text!r}")
    encode = [{"op": "encode", "text": text, "add_special": False} for text in wanted[:100] if text is not None]
    for request, answer in zip(encode, ask(tool, folder, encode)):
        expect(answer.get("ids") == theirs.encode(request["text"], add_special_tokens=False), f"template {label}: tokens of {request['text']!r}")
    refused = sum(text is None for text in wanted)
    expect(refused < count, f"template {label}: everything is refused")
    return refused


def own_template(folder):
    """The Jinja that a folder has, or None."""
    if (folder / "chat_template.jinja").exists():
        return (folder / "chat_template.jinja").read_text()
    config = folder / "tokenizer_config.json"
    return json.loads(config.read_text()).get("chat_template") if config.exists() else None


def check_templates(tool, folder, templates, seed):
    all_templates = {**TEMPLATES, **{path.stem: path.read_text().rstrip("\n") for path in sorted(templates.glob("*.jinja"))}}
    refused = {}
    for label, jinja in all_templates.items():
        (folder / "chat_template.jinja").write_text(jinja)
        refused[label] = check_template(tool, folder, label, jinja, seed, 3000 if label not in TEMPLATES else 300)
    print(f"{len(refused)} chat templates; conversations that both refuse: {({label: n for label, n in refused.items() if n})}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--strings", type=int, default=120_000)
    parser.add_argument("--family-strings", type=int, default=2000, help="for each of the families (15,000: 100,000 in all)")
    parser.add_argument("--only", nargs="*", help="only these families, and nothing else; \"templates\": the chat templates")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--templates", type=pathlib.Path, default=TEMPLATE_FOLDER, help="a folder of .jinja files")
    options = parser.parse_args()
    texts = inputs.corpus(3_000_000)
    learn = texts + ["".join(inputs.strings(texts, 20_000, ["<"], 7))]

    def assigned(text):  # PCRE2's Unicode version is the system's, about as old as Python's
        return all(unicodedata.category(c) != "Cn" for c in text)

    def check_families(scratch, names):
        if "templates" in names:
            check_templates(options.tool, llama3(learn[::4], scratch / "llama3"), options.templates, options.seed)
        for name in [name for name in names if name != "templates"]:
            make, any_character = FAMILIES[name]
            more = inputs.every_character() if name == "smollm2" else ()
            keep = (lambda text: True) if any_character else assigned
            check_tokens(options.tool, make(learn[::4], scratch / name), texts, options.family_strings, options.seed, keep, more)

    def check_all(scratch):
        made = [(qwen(learn, scratch / "qwen"), 0.45), (llama3(learn, scratch / "llama3"), 0.35), (gpt2(learn, scratch / "gpt2"), 0.1)]
        for folder, share in made:
            more = inputs.every_character() if folder.name == "qwen" else ()
            check_tokens(options.tool, folder, texts, int(options.strings * share), options.seed, more=more)
        check_tokens(options.tool, marks(learn, scratch / "marks"), texts, options.strings // 10, options.seed, assigned)
        check_tokens(options.tool, pathlib.Path(__file__).resolve().parents[2] / "configs" / "tiny_model", texts, 500, options.seed)  # the examples'
        check_families(scratch, FAMILIES)
        for name, regex, vocab, nfc in (("qwen", QWEN, 8000, True), ("llama3", LLAMA3, 3000, False), ("gpt2", None, 2000, False)):
            folder = check_trainer(options.tool, scratch, learn, name, regex, vocab, nfc)
            check_tokens(options.tool, folder, texts, 3000, options.seed)
            if name == "qwen":
                check_template(options.tool, folder, folder.name, own_template(folder), options.seed)
        check_templates(options.tool, made[1][0], options.templates, options.seed)
        for folder in options.folder:
            check_tokens(options.tool, folder, texts, options.strings, options.seed)
            if own_template(folder):
                check_template(options.tool, folder, folder.name, own_template(folder), options.seed)

    with tempfile.TemporaryDirectory() as scratch:
        if options.only is None:
            check_all(pathlib.Path(scratch))
        else:
            check_families(pathlib.Path(scratch), options.only)
    print(f"cross_check: {expectations.failures} differences; tokenizers {tokenizers.__version__}, transformers {transformers.__version__}")
    sys.exit(expectations.exit_code())


main()
