"""Problems as tasks: the prompt, and the reward of a rollout's last answer, in whatever environment it was given."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import verifiers.v1 as vf
from kernelwright.environment import Episode, Step

from kernelwright_verifiers.gym import GymConfig, gym_of


class KernelData(vf.TaskData):
    problem: str
    """The gym's name of it."""


class KernelTask(vf.Task[KernelData, vf.State, GymConfig]):
    async def begin(self) -> Episode:
        gym = await asyncio.to_thread(gym_of, self.config)
        return await asyncio.wrap_future(gym.begin(self.data.problem))

    @vf.reward
    async def kernel(self, trace: vf.Trace) -> float:
        """An answer that could not be judged raises, and the rollout has no reward."""
        episode = await self.begin()
        step = await judged(episode, trace, trace.last_reply)
        episode.end()
        record_steps(trace, [step])
        return step.reward


async def judged(episode: Episode, trace: vf.Trace, answer: str) -> Step:
    """answer: the last one of the trace, whose calls tell whether it was cut."""
    calls = [call for call in trace.calls if call.error is None]
    was_cut = bool(calls) and calls[-1].finish_reason == "length"
    return await asyncio.wrap_future(episode.step(answer, "length" if was_cut else "stop"))


def record_steps(trace: vf.Trace, steps: Sequence[Step]) -> None:
    """The facts of each turn for logs, and the numbers among them that are worth a curve: the best turn's."""
    trace.info["kernelwright"] = [{"reward": step.reward, "interval": step.interval, **step.facts} for step in steps]
    trace.record_metrics({
        "correct": float(any(step.facts.get("outcome") == "passed" for step in steps)),
        "speedup": max((step.facts["speedup"][0] for step in steps if "speedup" in step.facts), default=0.0),
    })


class KernelTasksetConfig(vf.TasksetConfig):
    task: GymConfig = GymConfig()


class KernelTaskset(vf.Taskset[KernelTask, KernelTasksetConfig]):
    def load(self) -> Iterable[KernelTask]:
        gym = gym_of(self.config.task)
        begun = [(problem, gym.begin(problem)) for problem in gym.tasks]
        for problem, future in begun:
            episode = future.result()
            episode.end()
            yield KernelTask(KernelData(name=problem, problem=problem, prompt=episode.messages), self.config.task)
