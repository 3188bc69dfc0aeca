"""TRL's GRPOTrainer with the reward function of this package, a tiny random model, and recorded answers in place of its own,
by a real service. Not part of the tests: TRL and its requirements are large.

    python3 -m venv trl && trl/bin/pip install trl httpx torch
    KERNELWRIGHT_URL=http://127.0.0.1:8100 trl/bin/python clients/python/tests/check_trl.py
"""

import os
import pathlib
import sys
import tempfile

import torch
from datasets import Dataset
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from kernelwright import Judge  # noqa: E402
from kernelwright.integrations.trl import kernel_reward  # noqa: E402

ROOT = HERE.parents[2]
RIGHT = (ROOT / "examples" / "relu" / "good.cpp").read_text()
ANSWERS = [f"```cpp\n{RIGHT}```", "```cpp\nint\n```", "no code", f"```cpp\n{RIGHT.replace('> ', '>= ')}```"]


def main():
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "configs" / "tiny_model")
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64,
                                         num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2))
    judge = Judge(os.environ["KERNELWRIGHT_URL"], options={"timing": False, "store_evidence": False})
    real = kernel_reward(judge, "cpp", folder=ROOT / "problems")
    seen = []

    def recorded(completions, problem, **others):
        answers = [ANSWERS[i % len(ANSWERS)] for i in range(len(completions))]
        seen.extend(real(completions=answers, problem=problem, **others))
        return seen[-len(completions):]

    rows = Dataset.from_list([{"prompt": "relu", "problem": "relu"}] * 4)
    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(output_dir=folder, per_device_train_batch_size=4, num_generations=4, max_completion_length=8,
                              max_steps=2, logging_steps=1, report_to=[], use_cpu=True, save_strategy="no")
        trainer = GRPOTrainer(model=model, reward_funcs=recorded, args=settings, train_dataset=rows,
                              processing_class=tokenizer)
        trainer.train()
    logged = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    print("rewards", seen, "logged", logged)
    assert seen[:3] == [0.3, 0.0, 0.0], seen
    assert all(abs(mean - sum(seen[:4]) / 4) < 1e-6 for mean in logged), logged
    assert torch.isfinite(torch.tensor(logged)).all()


if __name__ == "__main__":
    main()
