"""verl: a tool that runs a program on the tests of its task and says what came of it, named by examples/judge/verl_tools.yaml.

    actor_rollout_ref.rollout.multi_turn.tool_config_path=examples/judge/verl_tools.yaml
    actor_rollout_ref.rollout.agent.default_agent_loop=tool_agent

Rows name their task: `extra_info.tools_kwargs.run_program.create_kwargs.id`. verl makes an instance for each call and keeps the rewards
of the calls as `tool_rewards`; the reward of the answer is that of verl_reward.py.
"""

import asyncio
import os
from uuid import uuid4

from grpo_sandbox import Conversation, Judge
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import ToolResponse

judge = Judge(env=os.environ.get("JUDGE_ENV", "examples/tasks/micro.jsonl"))


class ProgramTool(BaseTool):
    def __init__(self, config, tool_schema):
        super().__init__(config, tool_schema)
        self._conversations = {}

    async def create(self, instance_id=None, create_kwargs=None, **arguments):
        instance_id = instance_id or str(uuid4())
        conversation = Conversation(judge)
        conversation.reset(**create_kwargs or {})
        self._conversations[instance_id] = conversation
        return instance_id, ToolResponse()

    async def execute(self, instance_id, parameters, **arguments):
        conversation = self._conversations[instance_id]
        feedback = await asyncio.to_thread(conversation.run, parameters["code"])
        return ToolResponse(text=feedback), conversation.get_reward(), {}

    async def release(self, instance_id, **arguments):
        del self._conversations[instance_id]
