"""A reward function for TRL's GRPOTrainer and its siblings.

    trainer = GRPOTrainer(model=..., reward_funcs=kernel_reward(Judge(URL), "cpp", folder="problems"), train_dataset=rows)

Each row of the data set names its problem in the column `problem`: a folder or file, relative to `folder`. TRL leaves
out completions whose reward is None, as those are that could not be judged."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

from kernelwright.answers import text_of
from kernelwright.judge import Judge
from kernelwright.problem import Problem
from kernelwright.rewards import Reward, cases_of, gated_reward, pay


def kernel_reward(judge: Judge, language: str, *, folder: str | pathlib.Path = ".", reward: Reward = gated_reward,
                  timeout_seconds: float = 600) -> Callable[..., list[float | None]]:
    known: dict[str, Problem] = {}

    def problem_of(name: str) -> Problem:
        if name not in known:
            known[name] = Problem.load(pathlib.Path(folder) / name)
        return known[name]

    def kernelwright(completions: list[Any], problem: list[str], **_: Any) -> list[float | None]:
        cases = cases_of([text_of(c) for c in completions], [problem_of(name) for name in problem], language)
        ends = judge.judge_many([case for case in cases if case is not None], timeout_seconds=timeout_seconds)
        return pay(cases, ends, reward)

    return kernelwright
