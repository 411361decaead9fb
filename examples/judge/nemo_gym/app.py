"""NeMo-Gym: a resources server whose `/verify` rewards the program in a response by the task that `verifier_metadata.id` names.

The same response earns the same reward on every machine, so stored rollouts can be verified again: `REVERIFY_MODE` is stateless.
"""

import asyncio
from typing import ClassVar

from grpo_sandbox import Judge
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from pydantic import BaseModel, PrivateAttr


class ProgramServerConfig(BaseResourcesServerConfig):
    # A `ReverifyMode`, in the word for it: NeMo-Gym before 0.5 has no such class, and does without.
    REVERIFY_MODE: ClassVar[str] = "stateless"
    env: str
    workers: int = 8


class TaskName(BaseModel):
    id: str | int


class ProgramVerifyRequest(BaseVerifyRequest):
    verifier_metadata: TaskName


class ProgramVerifyResponse(BaseVerifyResponse):
    verifier_metadata: TaskName
    verdict: str
    passed: int
    tests: int
    fuel: int
    reason: str | None


class ProgramServer(SimpleResourcesServer):
    config: ProgramServerConfig
    _judge: Judge = PrivateAttr()

    def model_post_init(self, context):
        super().model_post_init(context)
        self._judge = Judge(env=self.config.env, workers=self.config.workers)

    # What the machine cannot do is an error of the request, and never a reward.
    async def verify(self, body: ProgramVerifyRequest) -> ProgramVerifyResponse:
        # The judge takes the policy's texts of these: messages are lines of their own, and a refusal is a part without text.
        messages = [item.model_dump() for item in body.response.output if item.type == "message"]
        judged = (await asyncio.to_thread(self._judge.judge, [messages], [body.verifier_metadata.id]))[0]
        told = {key: judged[key] for key in ("reward", "verdict", "passed", "tests", "fuel", "reason")}
        return ProgramVerifyResponse(**body.model_dump(), **told)


if __name__ == "__main__":
    ProgramServer.run_webserver()
