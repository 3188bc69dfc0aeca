"""The engine against transformers on small random models of each family: logits, greedy answers, folders that we write.

usage: hf_equality.py PROBE [NAME ...]
  PROBE: build/dev/bin/kw_lm_probe   NAME: only these models
float32 logits within 1e-4 of the largest logit's size (at least 1e-4), of a whole prompt and token by token, and both equal to the bit; 256 greedy tokens the same; folders
written as float32 give transformers the same logits; bfloat16 and int8 within what their rounding explains; damaged folders are refused, and named.
exit: 0 equal; 1 not; 77 without transformers (1 with KW_REQUIRE_TOKENIZERS set)
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402
try:
    import numpy as np
    import torch
    import transformers as hf
except ImportError as error:
    print(f"hf_equality: {error}", file=sys.stderr)
    sys.exit(1 if "KW_REQUIRE_TOKENIZERS" in os.environ else 77)

VOCABULARY, PROMPT, GREEDY = 515, 70, 256
COMMON = {"vocab_size": VOCABULARY, "hidden_size": 96, "intermediate_size": 200, "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2,
          "max_position_embeddings": 512, "initializer_range": 0.2}


def qwen2(**more):
    return hf.Qwen2ForCausalLM(hf.Qwen2Config(**{**COMMON, **more}))


def qwen3(**more):
    return hf.Qwen3ForCausalLM(hf.Qwen3Config(**{**COMMON, "head_dim": 32, **more}))


def llama(**more):
    return hf.LlamaForCausalLM(hf.LlamaConfig(**{**COMMON, **more}))


MODELS = {
    "qwen2": lambda: qwen2(tie_word_embeddings=True),
    "qwen2_untied": lambda: qwen2(tie_word_embeddings=False),
    "qwen2_yarn": lambda: qwen2(rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 128}),
    "qwen3": lambda: qwen3(tie_word_embeddings=True),
    "qwen3_untied": lambda: qwen3(tie_word_embeddings=False),
    "llama2": lambda: llama(num_key_value_heads=6),
    "llama_bias": lambda: llama(attention_bias=True, mlp_bias=True),
    "llama3": lambda: llama(rope_parameters={"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                             "original_max_position_embeddings": 64}),
    "llama_linear": lambda: llama(rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}),
}

def probe(*words):
    return subprocess.run([sys.argv[1], *map(str, words)], capture_output=True)


def logits_of(folder, dtype, mode, ids, threads=2):
    done = probe("logits", folder, dtype, mode, threads, *ids)
    if done.returncode != 0:
        sys.exit(f"hf_equality: {done.stderr.decode()}")
    return np.frombuffer(done.stdout, dtype=np.float32).reshape(len(ids), VOCABULARY)


def root_mean_square(values):
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def compare(name, folder, scratch):
    torch.manual_seed(sorted(MODELS).index(name))
    model = MODELS[name]().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # norms of one and biases of zero would hide mistakes
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    ids = torch.randint(0, VOCABULARY, (PROMPT,)).tolist()
    start = ids[:20]
    with torch.no_grad():
        reference = model(torch.tensor([ids])).logits[0].numpy()
        answer = model.generate(torch.tensor([start]), max_new_tokens=GREEDY, do_sample=False, eos_token_id=None, pad_token_id=0)[0, len(start):].tolist()
    whole, single = logits_of(folder, "float32", "prefill", ids), logits_of(folder, "float32", "decode", ids, threads=1)
    error, limit = np.abs(whole - reference).max(), 1e-4 * max(1.0, np.abs(reference).max() / 10)
    expect(error <= limit, f"{name}: logits differ by {error:.3g}, more than {limit:.3g}")
    expect(np.array_equal(whole, single), f"{name}: a prompt at once and token by token differ")
    got = probe("greedy", folder, "float32", GREEDY, *start).stdout.decode().split()
    expect(got == [str(one) for one in answer], f"{name}: greedy answers differ")
    for dtype in ("float32", "bfloat16"):
        written = scratch / f"{name}_{dtype}"
        done = probe("save", folder, written, dtype)
        expect(done.returncode == 0, f"{name}: {done.stderr.decode()}")
        with torch.no_grad():
            back = hf.AutoModelForCausalLM.from_pretrained(written, dtype=torch.float32).eval()(torch.tensor([ids])).logits[0].numpy()
        if dtype == "float32":
            expect(np.array_equal(back, reference), f"{name}: transformers reads other logits from the folder that we wrote")
        else:  # the same rounding of the weights as torch's
            with torch.no_grad():
                rounded = MODELS[name]().eval()
                rounded.load_state_dict({key: value.to(torch.bfloat16).to(torch.float32) for key, value in model.state_dict().items()})
                expect(np.array_equal(back, rounded(torch.tensor([ids])).logits[0].numpy()), f"{name}: bfloat16 weights are rounded otherwise than torch's")
    spread = root_mean_square(reference - reference.mean())
    stored = scratch / f"{name}_int8"
    expect(probe("save", folder, stored, "int8").returncode == 0, f"{name}: int8 is not written")
    errors = {}
    for label, where, dtype in (("bfloat16", folder, "bfloat16"), ("int8", folder, "int8"), ("stored int8", stored, "int8")):
        got = logits_of(where, dtype, "prefill", ids)
        errors[label] = root_mean_square(got - reference) / spread
        expect(np.array_equal(got, logits_of(where, dtype, "decode", ids, threads=1)), f"{name}, {label}: a prompt at once and token by token differ")
    expect(errors["bfloat16"] < 0.06, f"{name}: bfloat16 is off by {errors['bfloat16']:.3f} of the logits' spread")
    expect(errors["int8"] < 0.2, f"{name}: int8 is off by {errors['int8']:.3f} of the logits' spread")
    expect(errors["int8"] == errors["stored int8"], f"{name}: int8 differs when it was stored in between")
    print(f"{name}: largest error {error:.2g} of {np.abs(reference).max():.3g}; " + ", ".join(f"{key} {value:.3f}" for key, value in errors.items()), flush=True)


def damaged(folder, scratch):
    """Each way to spoil a folder must be refused with a message that has these words."""
    def case(label, words, change):
        copy = scratch / f"damaged_{label}"
        shutil.copytree(folder, copy)
        change(copy)
        done = probe("logits", copy, "float32", "prefill", 1, 1, 2)
        text = done.stderr.decode()
        expect(done.returncode == 2 and all(word in text for word in words), f"damaged, {label}: exit {done.returncode}, {text.strip()}")

    def config(**values):
        def change(copy):
            path = copy / "config.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
        return change

    def header(edit):
        def change(copy):
            path = copy / "model.safetensors"
            data = path.read_bytes()
            length = int.from_bytes(data[:8], "little")
            entries = json.loads(data[8:8 + length])
            edit(entries)
            text = json.dumps(entries).encode()
            path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length:])
        return change

    def cut(copy):
        path = copy / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-1000])

    def not_finite(copy):
        path = copy / "model.safetensors"
        data = bytearray(path.read_bytes())
        data[-4:] = np.float32(np.nan).tobytes()
        path.write_bytes(data)

    file = "model.safetensors"
    tensor = "model.layers.1.mlp.up_proj.weight"
    case("no_file", [file], lambda copy: (copy / file).unlink())
    case("cut", [file], cut)
    case("no_tensor", [tensor], header(lambda entries: entries.update({"other": entries.pop(tensor)})))
    case("left_over", [file, "other"], header(lambda entries: entries.update({"other": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}})))
    case("shape", [file, tensor, "[96, 200]", "[200, 96]"], header(lambda entries: entries[tensor].update(shape=[96, 200])))
    case("dtype", [file, tensor, "int32"], header(lambda entries: entries[tensor].update(dtype="I32")))
    case("not_finite", [file, "not finite"], not_finite)
    case("heads", ["config.json.num_key_value_heads", "4"], config(num_key_value_heads=4))
    case("family", ["config.json.model_type", "mixtral"], config(model_type="mixtral"))
    case("sliding", ["config.json.use_sliding_window"], config(use_sliding_window=True))
    case("layers", ["config.json.num_hidden_layers"], config(num_hidden_layers=0))
    case("more_layers", ["model.layers.3"], config(num_hidden_layers=4))
    case("activation", ["config.json.hidden_act"], config(hidden_act="gelu"))
    case("no_json", ["config.json"], lambda copy: (copy / "config.json").write_text("{"))


def main():
    names = sys.argv[2:] or sorted(MODELS)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for name in names:
            compare(name, scratch / name, scratch)
        damaged(scratch / names[0], scratch)
    print(f"{len(names)} models, {expectations.failures} differences")
    sys.exit(expectations.exit_code())


if __name__ == "__main__":
    main()
