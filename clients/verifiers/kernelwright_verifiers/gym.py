"""The process that gives prompts and rewards: one for all tasks of a Python process that have the same settings."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import verifiers.v1 as vf
from kernelwright.environment import Environment

JUDGE_VARIABLE = "KERNELWRIGHT_URL"


class GymConfig(vf.TaskConfig):
    """Under --env.taskset.task. The keys are those of the table [environment] in docs/environment.md."""

    problems: list[str] = []
    """Folders and files, as kernelwright eval takes them."""
    language: str = "cpp"
    template: str = "zero_shot"
    turns: int = 1
    """Answers in an episode; after each but the last the policy reads what the gym has found."""
    jobs: int = 8
    """Answers that are judged at once."""
    judge: str | None = None
    """URL or address file of a service; None: that of KERNELWRIGHT_URL, and without it this machine judges."""
    judge_ca_file: str | None = None
    judge_allow_plaintext: bool = False
    reward: dict[str, Any] = {}
    """The table [environment.reward]."""
    eval: dict[str, Any] = {}
    """The table [environment.eval]: options of a judgement."""
    program: str = "kernelwright-environment"

    def settings(self) -> dict[str, Any]:
        out = self.model_dump(include={"problems", "language", "template", "turns", "jobs", "judge_ca_file",
                                       "judge_allow_plaintext", "reward", "eval"})
        out["judge"] = self.judge or os.environ.get(JUDGE_VARIABLE)
        return {key: value for key, value in out.items() if value not in (None, {})}


_lock = threading.Lock()
_gyms: dict[str, Environment] = {}  # by settings and program; under _lock


def gym_of(config: GymConfig) -> Environment:
    """Blocks while it starts. One that was lost starts again."""
    settings = config.settings()
    key = json.dumps([config.program, settings], sort_keys=True)
    with _lock:
        gym = _gyms.get(key)
        if gym is None or not gym.is_alive():
            if gym is not None:
                gym.close()
            gym = _gyms[key] = Environment(settings, program=config.program)
        return gym

