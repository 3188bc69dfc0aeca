"""Rewards from answers: code is taken out, judged, and paid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kernelwright.answers import code_of
from kernelwright.candidate import Candidate
from kernelwright.problem import Problem
from kernelwright.service_calls import Case
from kernelwright.verdict import NoVerdict, Verdict

Reward = Callable[[Verdict], float | None]


def gated_reward(verdict: Verdict, *, correct: float = 0.3, most: float = 3.0) -> float | None:
    """0 for a wrong kernel, and for a borderline one; else `correct` plus the lower end of the speedup's interval, at most `most`. Speed counts only
    when the kernel is right, and noise is not paid. None where the outcome is not the candidate's fault.
    The sum of a share for correctness and the speedup is Kevin's (arXiv 2507.11948), which takes the measured speedup."""
    if not verdict.tells_of_candidate:
        return None
    if not verdict.passed or verdict.borderline:
        return 0.0
    speed = verdict.speedup.low if verdict.speedup else 0.0
    return correct + min(max(speed, 0.0), most)


def cases_of(answers: Sequence[str], problems: Sequence[Problem], language: str) -> list[Case | None]:
    """None where an answer has no code."""
    out: list[Case | None] = []
    for answer, problem in zip(answers, problems, strict=True):
        code = code_of(answer)
        out.append(None if code is None else (problem, Candidate.of(code, language)))
    return out


def pay(cases: Sequence[Case | None], ends: Sequence[Verdict | NoVerdict], reward: Reward) -> list[float | None]:
    """Rewards in the order of `cases`; `ends` are those of the cases that are there. An answer without code gets 0, one
    whose judgement the infrastructure failed gets None."""
    left = iter(ends)
    out: list[float | None] = []
    for case in cases:
        if case is None:
            out.append(0.0)
            continue
        end = next(left)
        paid = None if isinstance(end, NoVerdict) else reward(end)
        out.append(None if paid is None or math.isnan(paid) else paid)
    return out
