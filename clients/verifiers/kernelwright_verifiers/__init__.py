"""Kernels as an environment of verifiers (0.4), in one turn or several.

    vf-eval kernelwright-verifiers --env.taskset.task.problems '["problems/relu"]' --env.taskset.task.turns 3 ...

Prompts, the code in answers, rewards and what the policy reads after a turn are those of `kernelwright rl`: the process
kernelwright-environment gives them (docs/python_client.md)."""

from kernelwright_verifiers.multi_turn import KernelEnv
from kernelwright_verifiers.taskset import KernelTaskset

__all__ = ["KernelEnv", "KernelTaskset"]
