"""The Python package: what it answers, what it refuses, and that it plays without the interpreter's lock."""

import os
import threading
import time

from grpo_sandbox import Judge

RIGHT = "```python\ndef add(a, b):\n    return a + b\n```"
TASKS = "examples/tasks/micro.jsonl"

judge = Judge(env=TASKS, workers=4)
right, wrong = judge.judge([RIGHT, "def add(a, b):\n    return 7"], ["add", "add"])
assert (right["id"], right["reward"], right["verdict"], right["reason"]) == ("add", 1.0, "passed", None), right
assert right["passed"] == right["tests"] > 0 and right["fuel"] > 0 and list(right["parts"]) == ["tests", "failure"], right
assert (wrong["reward"], wrong["verdict"]) == (0.0, "wrong") and "expected 3" in wrong["reason"], wrong

items = [f"def add(a, b):\n    return a + b if a < {n} else b" for n in range(-900, 900, 300)]
answers = [Judge(env=TASKS, workers=workers).judge(items, ["add"] * len(items)) for workers in (0, 1, 4)]
assert answers[0] == answers[1] == answers[2]

player = "def strategy(board):\n    return 'W'"
assert Judge(games=2).reward(completions=[[{"role": "assistant", "content": player}]], prompts=["play"])[0] < 0.1
assert Judge(env=TASKS, settings={"reward.tests": "share"}).reward(items[3:4], id=["add"])[0] > 0


def refusal(kind, ask):
    try:
        ask()
    except kind as error:
        return str(error)
    raise AssertionError(f"expected {kind.__name__}")


assert 'no task "nope" in micro' in refusal(ValueError, lambda: judge.judge([RIGHT], ["nope"]))
assert "expected an id for each" in refusal(ValueError, lambda: judge.judge([RIGHT], []))
assert "a completion of 5242880 bytes" in refusal(ValueError, lambda: judge.judge(["x" * (5 << 20)], ["add"]))
assert "a completion of type int" in refusal(TypeError, lambda: judge.judge([3], ["add"]))
assert "expected a column `id`" in refusal(TypeError, lambda: judge.reward([RIGHT]))
assert "nowhere.jsonl" in refusal(ValueError, lambda: Judge(env="nowhere.jsonl"))
assert "did you mean `tests`?" in refusal(ValueError, lambda: Judge(settings={"reward.test": "all"}))

# While programs spin for seconds, another thread of Python goes on.
ticks, done = 0, threading.Event()


def tick():
    global ticks
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)


ticker = threading.Thread(target=tick)
ticker.start()
begin = time.monotonic()
judge.judge([f"def add(a, b):\n    while True: pass\n# {n}" for n in range(8)], ["add"] * 8)
seconds = time.monotonic() - begin
done.set()
ticker.join()
assert ticks > 20 * seconds, f"{ticks} ticks in {seconds:.1f} s"

child = os.fork()
if child == 0:
    os._exit(0 if "made in another process" in refusal(RuntimeError, lambda: judge.judge([RIGHT], ["add"])) else 1)
assert os.waitpid(child, 0)[1] == 0
print("the package judges, refuses and lets others go on")
