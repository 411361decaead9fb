"""verifiers (v1): the tasks of an environment, each answer rewarded by the judge, and a tool that tries a program first.

    vf-eval grpo-2048-tasks --env.taskset.source tasks.jsonl
"""

import asyncio
import functools

import verifiers.v1 as vf
from grpo_sandbox import Judge

__all__ = ["ProgramTaskset"]


@functools.cache
def judge_of(source):
    return Judge(env=source)


class ProgramData(vf.TaskData):
    id: str
    source: str


class ProgramTask(vf.Task[ProgramData]):
    @vf.reward
    async def judged(self, trace: vf.Trace) -> float:
        judge = judge_of(self.data.source)
        return (await asyncio.to_thread(judge.reward, [trace.last_reply], [self.data.id]))[0]


class ProgramConfig(vf.TasksetConfig):
    source: str = "2048"
    """A file of tasks, a game in Python, a directory with env.toml, or 2048."""
    held_out: bool = False
    """The tasks that are for evaluation alone, instead of the others."""


class ProgramTaskset(vf.Taskset[ProgramTask, ProgramConfig]):
    def load(self):
        source = self.config.source
        wanted = [request for request in judge_of(source).requests() if request["held_out"] == self.config.held_out]
        texts = [{"id": one["id"], "system_prompt": one["system"], "prompt": one["prompt"], "source": source} for one in wanted]
        return [ProgramTask(ProgramData(**text), self.config.task) for text in texts]
