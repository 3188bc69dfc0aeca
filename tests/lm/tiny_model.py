"""Folders of random models with a tokenizer, for tests and benchmarks that need no answer that makes sense."""

import json
import pathlib
import subprocess

TINY = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "initializer_range": 0.2}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_letters():
    """The character that stands for each byte in a byte-level vocabulary (GPT-2)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + place) for place, byte in enumerate(other)}}


def tokenizer_json(vocabulary):
    """The bytes, pairs of ASCII letters and digits, and ChatML's special tokens: so many in all."""
    letters = byte_letters()
    vocab = {letters[byte]: byte for byte in range(256)}
    merges = []
    printable = [letters[byte] for byte in range(32, 127)]
    for first in printable:
        for second in printable:
            if len(vocab) < vocabulary - len(SPECIAL):
                vocab[first + second] = len(vocab)
                merges.append(f"{first} {second}")
    added = [{"id": len(vocab) + place, "content": token, "special": True, "normalized": False} for place, token in enumerate(SPECIAL)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    return {"added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated"}, byte_level]},
            "post_processor": byte_level, "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": vocab, "merges": merges}}


def make_model(probe, folder, vocabulary=600, context=4096, shape=None, seed=1, dtype="float32"):
    """probe: build/dev/bin/kw_lm_probe. Returns the folder."""
    folder = pathlib.Path(folder)
    config = {"model_type": "qwen2", "vocab_size": vocabulary, "max_position_embeddings": context, "tie_word_embeddings": True,
              "eos_token_id": vocabulary - len(SPECIAL), **(shape or TINY)}
    config_file = folder.parent / f"{folder.name}.config.json"
    config_file.write_text(json.dumps(config))
    subprocess.run([str(probe), "init", str(config_file), str(folder), str(seed), dtype], check=True)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json(vocabulary)))
    return folder
