"""The examples of examples/judge, called as their trainers call them. Run from the repository, with or without the package.

TRL and verl need torch and are not installed: they call plain functions. `protocols.py` uses the packages themselves.
"""

import copy
import importlib.util
import inspect
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

RIGHT = "```python\ndef add(a, b):\n    return a + b\n```"
WRONG = "def add(a, b):\n    return 7"
NOTHING = "I would add them."


def example(name):
    spec = importlib.util.spec_from_file_location(name, f"examples/judge/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# GRPOTrainer hands all of these over, by name, and logs the function by its __name__.
reward = example("trl_reward").reward
rewards = reward(
    prompts=["add"] * 3, completions=[RIGHT, WRONG, NOTHING], completion_ids=[[1], [2], [3]], id=["add"] * 3, trainer_state=None
)
assert reward.__name__ == "reward" and rewards == [1.0, 0.0, -0.1], rewards
assert all(type(value) is float for value in rewards)
assert reward(prompts=[[]], completions=[[{"role": "assistant", "content": RIGHT}]], completion_ids=[[1]], id=["add"]) == [1.0]
# The contents of several messages are one text, as in the package.
messages = [{"role": "assistant", "content": text} for text in ("def add(a, b):\n", "    return a + b")]
assert reward(prompts=[[]], completions=[messages], completion_ids=[[1]], id=["add"]) == [1.0]

# verl calls it from the threads of an executor, by name, and wants a number or a dict with `score`.
verl = example("verl_reward")
compute_score = verl.compute_score
assert list(inspect.signature(compute_score).parameters)[:4] == ["data_source", "solution_str", "ground_truth", "extra_info"]


def score(text):
    return compute_score(data_source="tasks", solution_str=text, ground_truth="add", extra_info={"index": 0})


with ThreadPoolExecutor(8) as threads:
    scores = list(threads.map(score, [RIGHT, WRONG, NOTHING] * 4))
assert [answer["score"] for answer in scores] == [1.0, 0.0, -0.1] * 4, scores
assert scores[0]["acc"] == 1.0 and scores[1]["acc"] == 0.0

# A process that verl forks after that has a judge of its own, also where `remote` of verl sends the function by value: with what it
# names, and without the judges that this process has.
child = os.fork()
if child == 0:
    os._exit(0 if score(RIGHT)["score"] == 1.0 else 1)
assert os.waitpid(child, 0)[1] == 0, "a fork has no judge"
assert len(verl.judges._of) == 1 and not copy.deepcopy(verl.judges)._of, "threads make one judge, and a copy has none"
try:
    import cloudpickle
except ImportError:
    named = [verl.__dict__[name] for name in compute_score.__code__.co_names if name in verl.__dict__]
    assert named == [verl.judges]
else:
    sent = pickle.loads(cloudpickle.dumps(compute_score))
    assert sent is not compute_score and sent("tasks", RIGHT, "add")["score"] == 1.0

package = "with the package" if "grpo_sandbox" in sys.modules else "with the program"
print(f"judged {package} for TRL, verl")
