"""TRL: rewards of programs, for a data set with the columns `prompt` and `id`, the name of the task.

    trainer = GRPOTrainer(model=..., train_dataset=..., reward_funcs=reward)
"""

import json
import os
import subprocess

ENV = os.environ.get("JUDGE_ENV", "examples/tasks/micro.jsonl")

try:
    from grpo_sandbox import Judge

    reward = Judge(env=ENV).reward
except ImportError:  # without the package, the program does it

    def reward(completions, id, **columns):
        lines = "".join(json.dumps({"id": id, "completion": completion}) + "\n" for id, completion in zip(id, completions))
        answers = subprocess.run(["grpo-2048", "judge", "--env", ENV], input=lines, stdout=subprocess.PIPE, text=True, check=True)
        return [json.loads(line)["reward"] for line in answers.stdout.split("\n") if line]
