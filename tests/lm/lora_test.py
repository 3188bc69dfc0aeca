"""`kernelwright model merge` against PEFT's own sum: adapters that PEFT made, on each family of models; and what is refused.

usage: lora_test.py KERNELWRIGHT
exit: 0 equal; 1 not; 77 without transformers and peft (1 with KW_REQUIRE_TOKENIZERS set)
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
from expectations import PATIENCE, expect  # noqa: E402
try:
    import peft
    import torch
    import transformers as hf
except ImportError as error:
    print(f"lora_test: {error}", file=sys.stderr)
    sys.exit(1 if "KW_REQUIRE_TOKENIZERS" in os.environ else 77)
import tiny_model

PROGRAM = sys.argv[1]
FAMILIES = {"qwen2": (hf.Qwen2Config, hf.Qwen2ForCausalLM), "qwen3": (hf.Qwen3Config, hf.Qwen3ForCausalLM), "llama": (hf.LlamaConfig, hf.LlamaForCausalLM)}
SHAPE = dict(vocab_size=600, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=96, head_dim=16,
             max_position_embeddings=256, initializer_range=0.1)


def make(folder, family, dtype):
    config, model = FAMILIES[family]
    torch.manual_seed(4)
    model(config(**SHAPE, tie_word_embeddings=family != "llama")).to(dtype).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(tiny_model.tokenizer_json(600)))


def load(folder, dtype=torch.float32):
    return hf.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)


def adapter(folder, model, **settings):
    torch.manual_seed(6)
    settings = {"r": 3, "lora_alpha": 7, "target_modules": "all-linear", "init_lora_weights": False, "task_type": "CAUSAL_LM", **settings}
    peft.get_peft_model(load(model), peft.LoraConfig(**settings)).save_pretrained(folder)


def merge(model, adapter_folder, out, *options):
    return subprocess.run([PROGRAM, "model", "merge", str(model), "--adapter", str(adapter_folder), "--out", str(out), *options],
                          capture_output=True, text=True, timeout=PATIENCE)


def check_sums(work):
    for family in FAMILIES:
        for dtype in (torch.float32, torch.bfloat16):
            name = f"{family}-{str(dtype).split('.')[1]}"
            model, folder, out = work / name, work / f"adapter-{name}", work / f"merged-{name}"
            make(model, family, dtype)
            adapter(folder, model)
            done = merge(model, folder, out)
            expect(done.returncode == 0, f"{name}: {done.stderr}")
            if done.returncode != 0:
                continue
            want = peft.PeftModel.from_pretrained(load(model), folder).merge_and_unload().state_dict()
            got = load(out, "auto").state_dict()
            expect(got["model.norm.weight"].dtype == dtype, f"{name}: saved as {got['model.norm.weight'].dtype}")
            limit = 1e-6 if dtype == torch.float32 else 1.01 * 2 ** -8
            worst = max(((got[key].float() - value).abs() / value.abs().clamp_min(0.1)).max().item() for key, value in want.items())
            expect(worst <= limit, f"{name}: {worst} from PEFT's sum")
            changed = sum(not torch.equal(value, load(model).state_dict()[key]) for key, value in want.items())
            expect(changed == 14, f"{name}: PEFT changed {changed} tensors, so others are not compared")
            print(f"{name}: {worst:.1e} from PEFT's sum")


def check_refusals(work):
    model = work / "qwen2-float32"
    for name, settings, word in [("dora", {"use_dora": True}, "use_dora"), ("stabilised", {"use_rslora": True}, "use_rslora"),
                                 ("ranks", {"rank_pattern": {"q_proj": 5}}, "rank_pattern"), ("biases", {"bias": "lora_only"}, "bias"),
                                 ("whole", {"modules_to_save": ["lm_head"]}, "modules_to_save"),
                                 ("embedding", {"target_modules": ["q_proj", "embed_tokens"]}, "embed_tokens")]:
        adapter(work / name, model, **settings)
        done = merge(model, work / name, work / f"none-{name}")
        expect(done.returncode == 2 and word in done.stderr, f"{name}: {done.returncode} {done.stderr}")
        expect(not (work / f"none-{name}").exists(), f"{name}: something was written")
    done = merge(work / "llama-float32", work / "adapter-qwen2-float32", work / "merged-qwen2-float32")
    expect(done.returncode == 2 and "is there already" in done.stderr, f"an old folder: {done.stderr}")
    tensors = work / "adapter-qwen2-float32" / "adapter_model.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-4])
    done = merge(model, work / "adapter-qwen2-float32", work / "none-cut")
    expect(done.returncode == 2 and "adapter_model.safetensors" in done.stderr, f"a cut file: {done.stderr}")


with tempfile.TemporaryDirectory(prefix="kw-lora-") as temporary:
    check_sums(pathlib.Path(temporary))
    check_refusals(pathlib.Path(temporary))
sys.exit(expectations.exit_code())
