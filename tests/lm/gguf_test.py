"""`kernelwright model import` against transformers' own reading of GGUF files: a random model stored as each type, its logits, and its tokens.

usage: gguf_test.py KERNELWRIGHT PROBE [TYPE ...]
  PROBE: build/dev/bin/kw_lm_probe   TYPE: only these (Q4_K ...)
The file's bits are drawn at random, so no block is only what a quantiser would write. transformers (gguf_file=) gives the reference logits; the folder that we write
must give transformers the same ones to the bit, and the engine those within 1e-4 of their size. Damaged files are refused with file and tensor.
exit: 0 equal; 1 not; 77 without transformers, gguf and accelerate (1 with KW_REQUIRE_TOKENIZERS set)
"""

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
    import gguf
    import numpy as np
    import torch
    import transformers as hf
except ImportError as error:
    print(f"gguf_test: {error}", file=sys.stderr)
    sys.exit(1 if "KW_REQUIRE_TOKENIZERS" in os.environ else 77)
import tiny_model

TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"]
VOCABULARY, HIDDEN, FFN, HEADS, KV_HEADS, LAYERS = 600, 256, 512, 8, 2, 2
IDS = [259, 5, 77, 300, 12, 9, 599, 0, 41, 350]


def random_blocks(rng, kind, rows, columns):
    """Bytes of rows of blocks: any bits, but for scales of a usual size."""
    values, size = gguf.GGML_QUANT_SIZES[kind]
    shape = (rows, columns // values)
    if kind in (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16):
        return rng.normal(0, 0.05, (rows, columns)).astype(np.float32 if kind == gguf.GGMLQuantizationType.F32 else np.float16)
    if kind == gguf.GGMLQuantizationType.BF16:
        return (rng.normal(0, 0.05, (rows, columns)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8).reshape(rows, columns * 2)
    data = rng.integers(0, 256, (*shape, size), dtype=np.uint8)
    name = kind.name
    scales = {"Q8_0": {0: 0.0005}, "Q4_0": {0: 0.008}, "Q4_1": {0: 0.008, 2: -0.06}, "Q5_0": {0: 0.004}, "Q5_1": {0: 0.004, 2: -0.06},
              "Q4_K": {0: 0.0003, 2: 0.002}, "Q5_K": {0: 0.00015, 2: 0.002}, "Q6_K": {208: 0.00003}}[name]
    for at, scale in scales.items():
        half = (rng.uniform(0.5, 1.5, shape) * scale).astype(np.float16)
        data[:, :, at:at + 2] = half.view(np.uint8).reshape(*shape, 2)
    return data.reshape(rows, -1)


def write_file(path, rng, kind, architecture, untied=False, bias=False, heads=HEADS, kv_heads=KV_HEADS):
    """A model whose matrices are of one type, with a byte-level tokenizer."""
    writer = gguf.GGUFWriter(path, architecture)
    head = HIDDEN // heads
    writer.add_context_length(256)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(50000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    tokenizer = tiny_model.tokenizer_json(VOCABULARY)
    tokens = [token for token, _ in sorted(tokenizer["model"]["vocab"].items(), key=lambda item: item[1])] + tiny_model.SPECIAL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * (VOCABULARY - 3) + [3] * 3)
    writer.add_token_merges(tokenizer["model"]["merges"])
    writer.add_eos_token_id(VOCABULARY - 3)
    writer.add_bos_token_id(VOCABULARY - 3)

    def matrix(name, rows, columns):
        data = random_blocks(rng, kind, rows, columns)
        writer.add_tensor(name, data, raw_dtype=kind)

    def vector(name, size, middle):
        writer.add_tensor(name, (middle + rng.normal(0, 0.2, size)).astype(np.float32))

    matrix("token_embd.weight", VOCABULARY, HIDDEN)
    vector("output_norm.weight", HIDDEN, 1)
    if untied:
        matrix("output.weight", VOCABULARY, HIDDEN)
    for layer in range(LAYERS):
        for name, rows, columns in (("attn_q", HIDDEN, HIDDEN), ("attn_k", head * kv_heads, HIDDEN), ("attn_v", head * kv_heads, HIDDEN), ("attn_output", HIDDEN, HIDDEN),
                                    ("ffn_gate", FFN, HIDDEN), ("ffn_up", FFN, HIDDEN), ("ffn_down", HIDDEN, FFN)):
            matrix(f"blk.{layer}.{name}.weight", rows, columns)
            if bias and name in ("attn_q", "attn_k", "attn_v"):
                vector(f"blk.{layer}.{name}.bias", rows, 0)
        for name in ("attn_norm", "ffn_norm"):
            vector(f"blk.{layer}.{name}.weight", HIDDEN, 1)
        if architecture == "qwen3":
            for name in ("attn_q_norm", "attn_k_norm"):
                vector(f"blk.{layer}.{name}.weight", head, 1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def imported(kernelwright, file, out, *more):
    return subprocess.run([kernelwright, "model", "import", str(file), "--out", str(out), *more], capture_output=True, text=True)


def logits(model):
    with torch.no_grad():
        return model.eval()(torch.tensor([IDS])).logits[0].float().numpy()


def compare(kernelwright, probe, scratch, label, kind, architecture, **more):
    rng = np.random.default_rng(sum(map(ord, label)))
    file, out = scratch / f"{label}.gguf", scratch / label
    write_file(file, rng, kind, architecture, **more)
    done = imported(kernelwright, file, out)
    if done.returncode != 0:
        return expect(False, f"{label}: {done.stderr}")
    theirs = logits(hf.AutoModelForCausalLM.from_pretrained(scratch, gguf_file=file.name, dtype=torch.float32))
    ours = logits(hf.AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32))
    expect(np.isfinite(theirs).all() and np.ptp(theirs) > 0.5, f"{label}: the reference says nothing: {np.ptp(theirs)}")
    expect(np.array_equal(ours, theirs), f"{label}: logits of the folder differ by {np.abs(ours - theirs).max():.3g}")
    raw = subprocess.run([probe, "logits", out, "float32", "prefill", "2", *map(str, IDS)], capture_output=True)
    expect(raw.returncode == 0, f"{label}: {raw.stderr.decode()}")
    engine = np.frombuffer(raw.stdout, dtype=np.float32).reshape(len(IDS), VOCABULARY)
    error, limit = np.abs(engine - theirs).max(), 1e-4 * max(1.0, np.abs(theirs).max())
    expect(error <= limit, f"{label}: the engine's logits differ by {error:.3g}, more than {limit:.3g}")
    print(f"{label}: equal; the engine's largest error {error:.2g} of {np.abs(theirs).max():.3g}", flush=True)
    return out


def cut(kernelwright, scratch):
    """--cut-vocabulary: the data set has the same tokens under other numbers, and these the same logits."""
    data, out = scratch / "data.jsonl", scratch / "cut"
    rows = [{"messages": [{"role": "user", "content": "return a + b"}, {"role": "assistant", "content": "it is done"}]}, {"prompt": "int main", "completion": " { }"}]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = scratch / "llama_F32.gguf"
    done = imported(kernelwright, file, out, "--cut-vocabulary", str(data))
    if done.returncode != 0:
        return expect(False, f"cut: {done.stderr}")
    whole, less = (hf.AutoTokenizer.from_pretrained(folder) for folder in (scratch / "llama_F32", out))
    expect(256 < len(less) < 300 < len(whole), f"cut: {len(less)} of {len(whole)} tokens")
    models = [hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval() for folder in (scratch / "llama_F32", out)]
    rows_of = whole.convert_tokens_to_ids(less.convert_ids_to_tokens(list(range(len(less)))))
    for text in ("return a + b", "it is done", "int main", " { }"):
        ids, new_ids = whole(text)["input_ids"], less(text)["input_ids"]
        expect(whole.convert_ids_to_tokens(ids) == less.convert_ids_to_tokens(new_ids), f"cut: {text!r} has other tokens")
        with torch.no_grad():
            theirs, ours = (model(torch.tensor([tokens])).logits[0] for model, tokens in zip(models, (ids, new_ids)))
        expect(torch.allclose(theirs[:, rows_of], ours, rtol=0, atol=1e-5), f"cut: {text!r} has other logits")
    expect(less.decode(less("\x07xyz")["input_ids"]) == "\x07xyz", "cut: other text is lost")


def damaged(kernelwright, scratch):
    good = (scratch / "llama_F32.gguf").read_bytes()

    def refused(label, data, *words):
        path = scratch / f"damaged_{label}.gguf"
        path.write_bytes(data)
        done = imported(kernelwright, path, scratch / f"damaged_{label}")
        expect(done.returncode == 2 and all(word in done.stderr for word in (path.name, *words)), f"damaged {label}: exit {done.returncode}, {done.stderr}")
        expect(not (scratch / f"damaged_{label}" / "config.json").exists(), f"damaged {label}: left a model behind")

    refused("cut", good[:-1000], "ffn_norm")
    refused("version", good[:4] + b"\x09" + good[5:], "version 9")
    refused("text", b"hello", "no GGUF file")
    refused("name", good.replace(b"blk.1.attn_v.weight", b"blk.1.attn_w.weight"), "blk.1.attn_w.weight")
    refused("architecture", good.replace(b"llama", b"gemma"), "gemma")
    done = imported(kernelwright, scratch / "llama_F32.gguf", scratch / "llama_F32")
    expect(done.returncode != 0 and "has a model already" in done.stderr, f"a folder with a model: {done.stderr}")


def main():
    kernelwright, probe = sys.argv[1], sys.argv[2]
    types = sys.argv[3:] or TYPES
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for name in types:
            compare(kernelwright, probe, scratch, f"llama_{name}", getattr(gguf.GGMLQuantizationType, name), "llama")
        f32 = gguf.GGMLQuantizationType.F32
        compare(kernelwright, probe, scratch, "qwen2", gguf.GGMLQuantizationType.Q8_0, "qwen2", bias=True)
        # transformers does not read the head's size and takes its default of 128.
        compare(kernelwright, probe, scratch, "qwen3", f32, "qwen3", untied=True, heads=2, kv_heads=1)
        if "F32" in types:
            cut(kernelwright, scratch)
            damaged(kernelwright, scratch)
    print(f"gguf_test: {len(types) + 2} files, {expectations.failures} differences")
    sys.exit(expectations.exit_code())


if __name__ == "__main__":
    main()
