"""verl's reward loop with the reward function of this package: verl's own configuration, its reward manager and its Ray actors,
recorded answers, and rewards of a real service. tests/check_integrations.py runs it.

usage: KERNELWRIGHT_URL=http://127.0.0.1:8100 python clients/python/tests/check_verl.py"""

import json
import pathlib

import hydra
import numpy as np
import ray
import torch
import verl.trainer
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopManager
from verl.trainer.ppo.reward import extract_reward
from verl.utils import hf_tokenizer

import kernelwright.integrations.verl
from recorded_answers import BROKEN, EMPTY, OPTIONS, PAID, PROBLEM, RIGHT, ROOT, WRONG

TOKENIZER = ROOT / "configs" / "tiny_model"
OUTCOMES = {RIGHT: "passed", WRONG: "wrong_value", BROKEN: "compile_error", EMPTY: "no code"}


def configuration():
    """As verl's command line makes it."""
    folder = pathlib.Path(verl.trainer.__file__).parent / "config"
    with hydra.initialize_config_dir(str(folder), version_base=None):
        return hydra.compose("ppo_trainer", [
            f"actor_rollout_ref.model.path={TOKENIZER}", "reward.num_workers=2",
            f"reward.custom_reward_function.path={kernelwright.integrations.verl.__file__}",
            "reward.custom_reward_function.name=compute_score",
            f"+reward.custom_reward_function.reward_kwargs.folder={ROOT / 'problems'}",
            *(f"+reward.custom_reward_function.reward_kwargs.options.{name}={json.dumps(value)}" for name, value in OPTIONS.items()),
        ])


def rollouts(tokenizer):
    """A batch as a rollout leaves it: answers padded to one length."""
    rows = [tokenizer(answer)["input_ids"] for answer in PAID]
    longest = max(map(len, rows))
    prompt = tokenizer(PROBLEM, return_tensors="pt")["input_ids"].repeat(len(rows), 1)
    responses = torch.tensor([row + [tokenizer.pad_token_id] * (longest - len(row)) for row in rows])
    is_response = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return DataProto.from_dict(
        tensors={"prompts": prompt, "responses": responses, "attention_mask": torch.cat([torch.ones_like(prompt), is_response], 1)},
        non_tensors={"data_source": np.array(["kernels"] * len(rows), dtype=object),
                     "reward_model": np.array([{"ground_truth": ""}] * len(rows), dtype=object),
                     "extra_info": np.array([{"problem": PROBLEM, "language": "cpp"}] * len(rows), dtype=object)})


def main():
    config = configuration()
    tokenizer = hf_tokenizer(str(TOKENIZER))
    data = rollouts(tokenizer)
    ray.init(num_cpus=2, _node_ip_address="127.0.0.1", include_dashboard=False, object_store_memory=100 << 20)
    try:
        scored = RewardLoopManager(config).compute_rm_score(data)
    finally:
        ray.shutdown()
    rewards, facts = extract_reward(scored)
    found = [(round(reward, 6), outcome) for reward, outcome in zip(rewards.sum(-1).tolist(), facts["outcome"], strict=True)]
    print("rewards", found)
    assert found == [(PAID[answer], OUTCOMES[answer]) for answer in PAID], found
    ends = data.batch["attention_mask"][:, data.batch["prompts"].shape[1]:].sum(-1) - 1
    assert torch.equal(rewards.nonzero()[:, 1], ends[:1]), rewards.nonzero()  # the reward is the last token's


if __name__ == "__main__":
    main()
