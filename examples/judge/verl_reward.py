"""verl: the score of a program. Rows name their task in `reward_model.ground_truth`.

    custom_reward_function.path=examples/judge/verl_reward.py custom_reward_function.name=compute_score

verl loads this file in each of its reward workers, which then has a judge of its own, and calls it from many threads.
"""

import json
import os
import subprocess
import threading

ENV = os.environ.get("JUDGE_ENV", "examples/tasks/micro.jsonl")

try:
    from grpo_sandbox import Judge

    judge = Judge(env=ENV)

    def judged(task, text):
        return judge.judge([text], [task])[0]

except ImportError:  # without the package, a process of the program answers line by line

    command, lock = ["grpo-2048", "judge", "--env", ENV], threading.Lock()
    judge = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def judged(task, text):
        with lock:
            judge.stdin.write(json.dumps({"id": task, "completion": text}) + "\n")
            return json.loads(judge.stdout.readline())


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **arguments):
    answer = judged(ground_truth, solution_str)
    return {"score": answer["reward"], "acc": float(answer["verdict"] == "succeeded"), "fuel": answer["fuel"]}
