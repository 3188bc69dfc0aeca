"""Episodes of several turns: the policy answers, the gym judges, and what it has found is the next user message."""

from __future__ import annotations

import verifiers.v1 as vf

from kernelwright_verifiers.taskset import KernelTask, judged, record_steps


class KernelEnvConfig(vf.EnvConfig):
    agent: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime=vf.SubprocessConfig())
    """The policy. The harness null executes nothing: kernels run in the gym's sandboxes alone."""


class KernelEnv(vf.Env[KernelEnvConfig]):
    """A rollout is paid its best turn, and each turn's reward is a metric. A failure to judge fails the whole episode, so
    that nothing is learnt from it."""

    async def run(self, task: KernelTask, agents: vf.Agents) -> None:
        if task.config.turns == 1:
            await agents.agent.run(task)
            return
        episode = await task.begin()
        steps = []
        try:
            async with agents.agent.interaction(task.defer_scoring()) as conversation:
                answer = await conversation.turn()
                while not answer.terminated:
                    steps.append(await judged(episode, conversation.trace, answer.last_reply))
                    if steps[-1].done:
                        break
                    answer = await conversation.turn(episode.messages[-1]["content"])
        finally:
            episode.end()
        if steps:
            record_steps(conversation.trace, steps)
            conversation.trace.record_metrics({f"turn_{turn}": step.reward for turn, step in enumerate(steps, 1)})
            conversation.trace.record_reward("kernel", max(step.reward for step in steps))
