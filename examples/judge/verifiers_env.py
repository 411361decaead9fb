"""verifiers (v1): a taskset of the tasks of a file, each rewarded by the judge.

The file is the module of a package, as `verifiers` asks; `prime eval run` and prime-rl then know it by that name.
"""

import asyncio
import json
import os
import subprocess

import verifiers.v1 as vf

__all__ = ["ProgramTaskset"]

ENV = os.environ.get("JUDGE_ENV", "examples/tasks/micro.jsonl")

try:
    from grpo_sandbox import Judge

    judge = Judge(env=ENV)

    def rewarded(task, text):
        return judge.judge([text], [task])[0]["reward"]

except ImportError:  # without the package, the program does it

    def rewarded(task, text):
        line = json.dumps({"id": task, "completion": text})
        answer = subprocess.run(["grpo-2048", "judge", "--env", ENV], input=line, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(answer.stdout)["reward"]


class ProgramTask(vf.Task[vf.TaskData, vf.State, vf.TaskConfig]):
    @vf.reward
    async def judged(self, trace: vf.Trace) -> float:
        return await asyncio.to_thread(rewarded, self.data.id, trace.last_reply)


class ProgramTaskset(vf.Taskset[ProgramTask, vf.TasksetConfig]):
    def load(self):
        with open(ENV, encoding="utf-8") as lines:
            for line in lines:
                task = json.loads(line)
                yield ProgramTask(vf.TaskData(id=task["id"], prompt=task["prompt"]), self.config.task)
