"""TRL's GRPOTrainer with the reward function of this package, a tiny random model, and a real service: two steps with recorded
answers in place of its own, and then twenty in which what the model samples chooses among these answers. check_integrations.py runs it.

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


def train_to_its_end(trainer_of, real):
    """What the model writes decides which recorded answer is judged: so rewards follow from its own samples."""
    answers, judged = list(PAID), []

    def chosen(completions, problem, **others):
        mine = [answers[sum(completion.encode()) % len(answers)] for completion in completions]
        rewards = real(completions=mine, problem=problem, **others)
        assert rewards == [PAID[answer] for answer in mine], (rewards, mine)
        judged.extend(rewards)
        return rewards

    trainer = trainer_of(chosen, 20)
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    trainer.train()
    logged = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    assert trainer.state.global_step == 20 and len(judged) == 80 and len(logged) == 20, (trainer.state.global_step, len(judged), len(logged))
    assert len(set(judged)) > 1, "every sample chose the same answer"
    assert all(abs(mean - sum(judged[4 * i:4 * i + 4]) / 4) < 1e-6 for i, mean in enumerate(logged)), (logged, judged)
    changed = sum(not torch.equal(old, new) for old, new in zip(before, trainer.model.parameters()))
    assert changed and all(torch.isfinite(weight).all() for weight in trainer.model.parameters()), "the model has not learned, or is no number"
    print(f"20 steps, 80 answers judged, {changed} of {len(before)} tensors changed, mean reward {sum(judged) / 80:.3f}")


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
        def trainer_of(rewards, steps):
            settings = GRPOConfig(output_dir=folder, per_device_train_batch_size=4, num_generations=4, max_completion_length=8,
                                  max_steps=steps, logging_steps=1, report_to=[], use_cpu=True, save_strategy="no", learning_rate=1e-3)
            return GRPOTrainer(model=model, reward_funcs=rewards, args=settings, train_dataset=rows, processing_class=tokenizer)

        trainer = trainer_of(recorded, 2)
        trainer.train()
        train_to_its_end(trainer_of, real)
    logged = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    print("rewards", seen, "logged", logged)
    assert seen == list(PAID.values()) * 2, seen
    assert logged and all(abs(mean - sum(PAID.values()) / len(PAID)) < 1e-6 for mean in logged), logged
    assert torch.isfinite(torch.tensor(logged)).all()


if __name__ == "__main__":
    main()
