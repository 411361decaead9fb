"""verl: the score of a program. Rows name their task in `reward_model.ground_truth`.

    custom_reward_function.path=examples/judge/verl_reward.py custom_reward_function.name=compute_score

For the reward managers `naive`, `dapo` and `remote`, which take a dict; `prime` takes its number alone: return `answer["reward"]`.
"""

import json
import os
import subprocess
import threading

ENV = os.environ.get("JUDGE_ENV", "examples/tasks/micro.jsonl")


def judge():
    """A function that judges one program: by the package, or without it by a process of the program, line by line."""
    try:
        from grpo_sandbox import Judge
    except ImportError:
        command, lock = ["grpo-2048", "judge", "--env", ENV], threading.Lock()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

        def judged(task, text):
            with lock:
                process.stdin.write(json.dumps({"id": task, "completion": text}) + "\n")
                return json.loads(process.stdout.readline())

        return judged
    made = Judge(env=ENV)
    return lambda task, text: made.judge([text], [task])[0]


class Judges:
    """A judge for each process, made for its first program. verl forks processes and sends this file's objects to others by pickle:
    a judge goes with neither."""

    def __init__(self):
        self._of = {}

    def here(self):
        # With a lock of its own: a thread of the process that forked this one may have held another.
        lock, made = self._of.setdefault(os.getpid(), (threading.Lock(), []))
        with lock:
            if not made:
                made.append(judge())
        return made[0]

    def __reduce__(self):
        return Judges, ()


judges = Judges()


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **arguments):
    answer = judges.here()(ground_truth, solution_str)
    return {"score": answer["reward"], "acc": float(answer["verdict"] == "succeeded"), "fuel": answer["fuel"]}
