"""TRL's GRPOTrainer with the reward function of this package, a tiny random model, and recorded answers in place of its own,
by a real service. check_integrations.py runs it.

usage: KERNELWRIGHT_URL=http://127.0.0.1:8100 python clients/python/tests/check_trl.py"""

import os
import tempfile

import torch
from datasets import Dataset
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from kernelwright import Judge
from kernelwright.integrations.trl import kernel_reward
from recorded_answers import OPTIONS, PAID, PROBLEM, ROOT


def main():
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "configs" / "tiny_model")
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64,
                                         num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2))
    judge = Judge(os.environ["KERNELWRIGHT_URL"], options=OPTIONS)
    real = kernel_reward(judge, "cpp", folder=ROOT / "problems")
    seen = []

    def recorded(completions, problem, **others):
        answers = list(PAID)[:len(completions)]
        seen.extend(real(completions=answers, problem=problem, **others))
        return seen[-len(completions):]

    rows = Dataset.from_list([{"prompt": PROBLEM, "problem": PROBLEM}] * len(PAID))
    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(output_dir=folder, per_device_train_batch_size=4, num_generations=4, max_completion_length=8,
                              max_steps=2, logging_steps=1, report_to=[], use_cpu=True, save_strategy="no")
        trainer = GRPOTrainer(model=model, reward_funcs=recorded, args=settings, train_dataset=rows,
                              processing_class=tokenizer)
        trainer.train()
    logged = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    print("rewards", seen, "logged", logged)
    assert seen == list(PAID.values()) * 2, seen
    assert logged and all(abs(mean - sum(PAID.values()) / len(PAID)) < 1e-6 for mean in logged), logged
    assert torch.isfinite(torch.tensor(logged)).all()


if __name__ == "__main__":
    main()
