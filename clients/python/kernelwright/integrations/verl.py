"""A reward function for verl (0.9), which its reward loop awaits for each answer.

    reward.custom_reward_function.path=.../kernelwright/integrations/verl.py
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.folder=/shared/problems

A row's `extra_info` has `problem` (a folder or file, relative to `folder`) and `language`. The service is that of `url`, else
of KERNELWRIGHT_URL; without both `kernelwright` judges on this machine. `options` are those of a request. verl knows no answer
without a reward: where the infrastructure fails for longer than the judge's patience, the error ends the run, and nothing is
learnt from a false 0."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from kernelwright import AsyncJudge, NoVerdict, Problem
from kernelwright.rewards import cases_of, gated_reward

_judges: dict[str | None, AsyncJudge] = {}  # by URL
_problems: dict[pathlib.Path, Problem] = {}


def _judge_at(url: str | None) -> AsyncJudge:
    if url not in _judges:
        _judges[url] = AsyncJudge(url)
    return _judges[url]


def _problem_at(path: pathlib.Path) -> Problem:
    if path not in _problems:
        _problems[path] = Problem.load(path)
    return _problems[path]


async def compute_score(data_source: str, solution_str: str, ground_truth: Any, extra_info: dict[str, Any], *, url: str | None = None,
                        folder: str = ".", options: Mapping[str, Any] | None = None, **_: Any) -> dict[str, Any]:
    path = pathlib.Path(folder) / extra_info["problem"]
    case = cases_of([solution_str], [_problem_at(path)], extra_info["language"])[0]
    if case is None:
        return {"score": 0.0, "acc": 0.0, "outcome": "no code"}
    verdict = await _judge_at(url or os.environ.get("KERNELWRIGHT_URL")).judge(*case, **(options or {}))
    score = gated_reward(verdict)
    if score is None:
        raise NoVerdict(f"{path}: {verdict.outcome}, which says nothing about the answer")
    return {"score": score, "acc": float(verdict.passed and not verdict.borderline), "outcome": verdict.outcome}
