"""verifiers (v1): the tasks of an environment, their author told what came of a program before it writes again, and the last answer
rewarded by the judge.

    vf-eval grpo-2048-tasks --env.taskset.source tasks.jsonl --env.turns 3 --no-push \\
        -m MODEL --client.base-url http://localhost:8000/v1 --client.api-key-var KEY
"""

import asyncio
import functools

import verifiers.v1 as vf
from grpo_sandbox import Judge
from pydantic import Field, SerializeAsAny
from verifiers.v1.harnesses.null.harness import NullHarnessConfig
from verifiers.v1.runtimes import RuntimeConfig, SubprocessConfig

__all__ = ["ProgramEnv", "ProgramTaskset"]


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


class Author(vf.AgentConfig):
    """Whoever answers with text alone: by default an author has a shell, which could read the tasks, on a machine of Prime's."""

    harness: SerializeAsAny[vf.HarnessConfig] | None = NullHarnessConfig(id="null")
    runtime: RuntimeConfig = SubprocessConfig()


class ProgramEnvConfig(vf.EnvConfig):
    author: Author = Author()
    turns: int = Field(1, ge=1)
    """Answers at most: after one that does not pass every test, the author is told what failed."""


class ProgramEnv(vf.Env[ProgramEnvConfig]):
    async def run(self, task, agents):
        judge = judge_of(task.data.source)
        async with agents.author.interaction(task) as interaction:
            answer = await interaction.turn()
            for _ in range(self.config.turns - 1):
                if answer.terminated:
                    break
                [found] = await asyncio.to_thread(judge.judge, [answer.last_reply], [task.data.id])
                if found["tests"] and found["passed"] == found["tests"]:
                    break
                answer = await interaction.turn(found["feedback"])
