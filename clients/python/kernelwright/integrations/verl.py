"""A reward function for verl (0.9), which its reward loop awaits for each answer.

    custom_reward_function.path=.../kernelwright/integrations/verl.py custom_reward_function.name=compute_score

A row's `extra_info` has `problem` (a folder or file) and `language`. KERNELWRIGHT_URL is the service; without it
`kernelwright` judges on this machine. verl knows no answer without a reward: where the infrastructure fails for longer
than the judge's patience, the error ends the run, and nothing is learnt from a false 0."""

from __future__ import annotations

import os
from typing import Any

from kernelwright import AsyncJudge, NoVerdict, Problem
from kernelwright.rewards import cases_of, gated_reward

_judge: AsyncJudge | None = None
_problems: dict[str, Problem] = {}


def _shared() -> AsyncJudge:
    global _judge
    if _judge is None:
        _judge = AsyncJudge(os.environ.get("KERNELWRIGHT_URL"))
    return _judge


async def compute_score(data_source: str, solution_str: str, ground_truth: Any, extra_info: dict[str, Any],
                        **_: Any) -> dict[str, Any]:
    name = extra_info["problem"]
    if name not in _problems:
        _problems[name] = Problem.load(name)
    case = cases_of([solution_str], [_problems[name]], extra_info["language"])[0]
    if case is None:
        return {"score": 0.0, "acc": 0.0, "outcome": "no code"}
    verdict = await _shared().judge(*case)
    score = gated_reward(verdict)
    if score is None:
        raise NoVerdict(f"{name}: {verdict.outcome}, which says nothing about the answer")
    return {"score": score, "acc": float(verdict.passed), "outcome": verdict.outcome}
