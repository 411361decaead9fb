"""The Python package: what it answers, what it refuses, and that it plays without the interpreter's lock."""

import ast
import copy
import csv
import inspect
import io
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import typing

from documents import block
from grpo_sandbox import Conversation, Judge, process as judging

RIGHT = "```python\ndef add(a, b):\n    return a + b\n```"
TASKS = "examples/tasks/micro.jsonl"

judge = Judge(env=TASKS, workers=4)
right, wrong = judge.judge([RIGHT, "def add(a, b):\n    return 7"], ["add", "add"])
assert (right["id"], right["reward"], right["verdict"], right["reason"]) == ("add", 1.0, "succeeded", None), right
assert right["passed"] == right["tests"] > 0 and right["fuel"] > 0 and list(right["parts"]) == ["tests", "failure"], right
assert (wrong["reward"], wrong["verdict"]) == (0.0, "wrong_answer") and "expected 3" in wrong["reason"], wrong



def shown(path):
    """Runs the lines that a document shows, with tasks.jsonl, and returns what the last of them gives."""
    lines = ast.parse(block(path, "from grpo_sandbox import Judge\n\njudge = Judge(env="))
    last = ast.Expression(lines.body.pop().value)
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(TASKS, f"{place}/tasks.jsonl")
        before = os.getcwd()
        os.chdir(place)
        try:
            exec(compile(lines, path, "exec"), names := {})
            return eval(compile(last, path, "eval"), names)
        finally:
            os.chdir(before)


assert [answer["reward"] for answer in shown("docs/judge.md")] == [1.0]
[answer] = shown("python/README.md")
told = block("python/README.md", "from grpo_sandbox import Judge").splitlines()[-1]
assert json.dumps([answer])[:-2].startswith(told.removeprefix("# ").removesuffix(", ...}]")), (told, answer)


def rows_become_tasks():
    """A table of one's own, by the lines of docs/tasks.md: what `tasks convert` makes of it is what its author meant."""
    table = [("Add two numbers.", "def add(a, b):\n    return a + b", ["add(1, 2) == 3", "add(-1, 1) == 0", "add(5, 5) == 10"]),
             ("Is it even?", "def even(n):\n    return n % 2 == 0", ["even(2)", "not even(3)", "even(0)"])]
    with tempfile.TemporaryDirectory() as place:
        with open(f"{place}/own.csv", "w", newline="") as file:
            lines = [(text, code, "\n".join(f"assert {test}" for test in tests)) for text, code, tests in table]
            csv.writer(file).writerows([("question", "solution", "tests"), *lines])
        before = os.getcwd()
        os.chdir(place)
        try:
            exec(compile(block("docs/tasks.md", "import csv, json"), "docs/tasks.md", "exec"), {})
            subprocess.run([judging.program(), "tasks", "convert", "rows.jsonl"], check=True, stdout=subprocess.DEVNULL)
            judge = Judge(env="rows.tasks.jsonl", workers=1)
        finally:
            os.chdir(before)
        asked = [request["prompt"] for request in judge.requests()]
        assert asked[0] == "Add two numbers.\n\nExamples:\nassert add(1, 2) == 3\nassert add(-1, 1) == 0", asked
        assert asked[1] == "Is it even?\n\nThe program defines `even`, and begins with:\ndef even(n):", asked
        assert judge.reward([code for _, code, _ in table], id=[0, 1]) == [1.0, 1.0]


rows_become_tasks()
items = [f"def add(a, b):\n    return a + b if a < {n} else b" for n in range(-900, 900, 300)]
answers = [Judge(env=TASKS, workers=workers).judge(items, ["add"] * len(items)) for workers in (0, 1, 4)]
assert answers[0] == answers[1] == answers[2]

player = "def strategy(board):\n    return 'W'"
assert Judge(games=2).reward(completions=[[{"role": "assistant", "content": player}]], prompts=["play"])[0] < 0.1
assert Judge(env=TASKS, settings={"reward.tests": "share"}).reward(items[3:4], id=["add"])[0] > 0

# Of a chat, the text of the policy counts, and not what tools and users tell it; a content may have parts.
LINES = ["def add(a, b):", "    return a + b"]
PARTS = [{"type": "text", "text": "def add"}, {"type": "image", "image": 7}, {"text": "(a, b):"}, {"type": "refusal", "refusal": "no"}]
TOLD = [{"role": "tool", "content": "def add(a, b):\n    return a - b"}, {"role": "user", "content": [7]}, {"role": "system"}]
CALL = {"role": "assistant", "content": None, "tool_calls": []}
for chat, expected in [
    ([{"role": "assistant", "content": LINES[0]}, CALL, *TOLD, {"content": LINES[1]}], 1.0),
    # openai's `model_dump(exclude_none=True)`.
    ([{"role": "assistant", "tool_calls": [{"id": "c"}]}, TOLD[0], {"role": "assistant", "content": RIGHT}], 1.0),
    ([{"role": "assistant", "tool_calls": [{"id": "c"}]}], -0.1),
    ([{"role": "assistant", "refusal": "no", "tool_calls": None}], -0.1),
    ([{"role": "assistant", "reasoning_content": "cut"}, {"role": "assistant", "content": RIGHT}], 1.0),
    ([{"role": "assistant", "content": PARTS}, {"role": None, "content": [{"type": "output_text", "text": LINES[1]}]}], 1.0),
    ([{"role": "assistant", "content": "I do not know."}, {"role": "user", "content": RIGHT}], -0.1),
    ([{"role": "assistant", "content": RIGHT}, TOLD[0], {"role": "assistant", "content": "I stay with mine."}], 1.0),
]:
    assert judge.reward([chat], ["add"]) == [expected], chat


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
for content in ({}, 7, ["text"], [{"type": "text"}], [{"type": "text", "text": 7}]):
    message, kind = {"role": "assistant", "content": content}, type(content).__name__
    told = refusal(TypeError, lambda: judge.judge([RIGHT, [CALL, message]], ["add"] * 2))
    assert told == f"completions[1][1]: a `content` of type {kind}: expected a str, a list of parts with `text`, or None", told
for message, found in [
    ({"role": "assistant"}, "a message with `role`: expected `content`, or `tool_calls` where it only calls tools"),
    ({"contents": RIGHT}, "a message with `contents`: expected `content`, or `tool_calls` where it only calls tools"),
    # Rows of parquet have all keys, with None where one is absent.
    ({"text": RIGHT, "tool_calls": None}, "a message with `text`, `tool_calls`: expected `content`, or `tool_calls` where it only calls tools"),
    ({"role": 7, "content": ""}, "a `role` of type int: expected a str, such as assistant"),
    ("content", "a message of type str: expected a dict with `content`"),
    (["content"], "a message of type list: expected a dict with `content`"),
    ("tool_calls", "a message of type str: expected a dict with `content`"),
]:
    assert refusal(TypeError, lambda: judge.judge([[message]], ["add"])) == f"completions[0][0]: {found}"
assert refusal(TypeError, lambda: judge.judge([RIGHT, CALL], ["add"] * 2)).startswith("completions[1]: a completion of type dict: ")
told = refusal(ValueError, lambda: judge.judge([RIGHT, "x" * (5 << 20)], ["add"] * 2))
assert told == f"completions[1]: a completion of {5 << 20} bytes: expected at most {4 << 20}", told
assert refusal(TypeError, lambda: judge.judge("text", ["add"] * 4)) == "completions is a str: expected a list of them"
assert refusal(TypeError, lambda: judge.reward([RIGHT] * 3, "add")) == "ids is a str: expected a list of them"
assert "expected a column `id`" in refusal(TypeError, lambda: judge.reward([RIGHT]))
assert "an id of type float: expected a str or an int" in refusal(TypeError, lambda: judge.reward([RIGHT], [7.5]))
assert "7" in refusal(ValueError, lambda: judge.reward([RIGHT], [7])), "no task has that name"
for number in (-(2**63), 2**64 - 1):
    assert f'no task "{number}" in micro' in refusal(ValueError, lambda: judge.reward([RIGHT], [number]))
    beyond = number + (1 if number > 0 else -1)
    assert refusal(ValueError, lambda: judge.reward([RIGHT], [beyond])).startswith(f"an id of {beyond}: expected an int from -2**63")
for copied in (lambda: pickle.dumps(judge), lambda: pickle.dumps(judge.reward), lambda: copy.deepcopy(judge)):
    assert refusal(TypeError, copied) == "a judge cannot be pickled; make one in each process"
assert "an id of type NoneType" in refusal(TypeError, lambda: judge.reward([RIGHT], [None]))
assert "half of a surrogate pair, '\\ud800' at character 1" in refusal(ValueError, lambda: judge.reward(["x\ud800"], ["add"]))
assert "an id with half of a surrogate pair" in refusal(ValueError, lambda: judge.reward([RIGHT], ["\udcff"]))
# What the module does not look at, the judge refuses for that call alone.
assert "invalid type: floating point `7.5`" in refusal(ValueError, lambda: judge._judging.ask(items=[{"id": 7.5, "completion": ""}]))
assert judge.reward([RIGHT], ["add"]) == [1.0]
assert "nowhere.jsonl" in refusal(ValueError, lambda: Judge(env="nowhere.jsonl"))
assert "did you mean `tests`?" in refusal(ValueError, lambda: Judge(settings={"reward.test": "all"}))
assert "settings of type list: expected a dict" in refusal(TypeError, lambda: Judge(settings=["reward.tests=all"]))

# Checkers of types read the package.
assert os.path.exists(os.path.join(os.path.dirname(judging.__file__), "py.typed"))
public = [Judge.__init__, Judge.judge, Judge.requests, Judge.reward]
for public in (*public, Conversation.__init__, Conversation.reset, Conversation.run, Conversation.get_reward):
    assert typing.get_type_hints(public).keys() == {*inspect.signature(public).parameters, "return"} - {"self"}, public

# A conversation, as TRL holds it: it resets by the row, offers the other public methods as tools, and asks for the reward.
conversation = Conversation(judge)
tools = [name for name, _ in inspect.getmembers(conversation, predicate=inspect.ismethod) if not name.startswith("_")]
assert tools == ["get_reward", "reset", "run"] and "code: The whole program." in inspect.getdoc(conversation.run), tools
assert conversation.reset(prompt=[{"role": "user", "content": "Add."}], id="add") is None and conversation.get_reward() == 0.0
told = conversation.run("def add(a, b):\n    return 7")
assert told.startswith("The program fails a test: add(1, 2) gave 7, expected 3.\n") and conversation.get_reward() == 0.0, told
assert conversation.run(code=RIGHT) == "The program passes every test." and conversation.get_reward() == 1.0
assert conversation.run("I give up.").startswith("There is no program in the answer") and conversation.get_reward() == -0.1
# TRL tells the model what `run` raises, and goes on: the model's own mistakes are its own, and all others come up with the reward.
assert "a program of type int: expected a str" in refusal(TypeError, lambda: conversation.run(code=7))
assert "a program of type list" in refusal(TypeError, lambda: conversation.run(code=[{"content": RIGHT}]))
assert "half of a surrogate pair" in refusal(ValueError, lambda: conversation.run("x\ud800"))
assert "a program of 4194305 bytes: expected at most 4194304" in refusal(ValueError, lambda: conversation.run("x" * ((4 << 20) + 1)))
assert conversation.get_reward() == -0.1, "the last program that was judged"
assert conversation.run("x" * (4 << 20)).startswith("There is no program in the answer"), "what the judge takes, the tool takes"
conversation.reset(id=None)
assert "an id of type NoneType" in refusal(TypeError, lambda: conversation.run(RIGHT))
assert "an id of type NoneType" in refusal(TypeError, conversation.get_reward)
conversation.reset(id="ad")
for ask in (lambda: conversation.run(RIGHT), conversation.get_reward, conversation.get_reward):
    assert 'no task "ad" in micro' in refusal(ValueError, ask)
conversation.reset(id="double")
assert conversation.get_reward() == 0.0 and conversation.run("def double(x):\n    return 2 * x") == "The program passes every test."
best = Conversation(judge, best=True)
best.reset(id="add")
assert [best.run(RIGHT) and best.get_reward(), best.run("no") and best.get_reward()] == [1.0, 1.0]
assert "expected a column `id`" in refusal(TypeError, lambda: conversation.reset(prompt="Add."))
quiet = Judge(env=TASKS, settings={"rollout.feedback": "verdict"}).judge(["def add(a, b):\n    return 7"], ["add"])[0]
assert quiet["feedback"].startswith("The program is wrong.\n"), quiet

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

# A call of one item does not wait for a long one, and no call waits for a judge that has ended.
slow = threading.Thread(target=judge.judge, args=([f"def add(a, b):\n    while True: pass\n# {n} more" for n in range(64)], ["add"] * 64))
slow.start()
begin = time.monotonic()
assert judge.reward([RIGHT], id=["add"]) == [1.0]
alone = time.monotonic() - begin
slow.join()
assert alone < (time.monotonic() - begin) / 2, f"{alone:.1f} s"

ended = Judge(env=TASKS)
process = ended._judging._child
process.kill()
assert "has ended with status -9" in refusal(RuntimeError, lambda: ended.judge([RIGHT], ["add"]))
conversation = Conversation(ended)
conversation.reset(id="add")
for ask in (lambda: conversation.run(RIGHT), conversation.get_reward):
    assert "has ended with status -9" in refusal(RuntimeError, ask)
let_go = Judge(env=TASKS)
process = let_go._judging._child
del let_go
assert process.poll() is not None, "a judge that nobody has goes on"

# A judge ends with its object where SIGTERM is ignored, which processes inherit.
before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
let_go = Judge(env=TASKS)
process = let_go._judging._child
del let_go
assert process.poll() is not None, "a judge that ignores SIGTERM goes on"
signal.signal(signal.SIGTERM, before)


ENDING = f"""
import threading
from grpo_sandbox import Judge

judge = Judge(env={TASKS!r}, workers=1)
del judge
try:
    Judge(env="nowhere.jsonl")
except ValueError:
    pass
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()
"""
# A judge that ends closes its pipes, and so does one that does not begin.
ended = subprocess.run([sys.executable, "-W", "error::ResourceWarning", "-c", ENDING], capture_output=True, text=True)
assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr


def acted(play):
    """A judge that does what these lines say: `tell` writes, `hear` reads a line."""
    path = os.path.join(directory, "acted")
    with open(path, "w") as file:
        file.write(f"#!{sys.executable}\nimport json, os, signal, sys\n\n\ndef tell(text):\n    os.write(1, text)\n\n\n")
        file.write(f"hear, begun = sys.stdin.buffer.readline, b'{{\"has_tests\": true}}\\n'\n{play}")
    os.chmod(path, 0o755)
    return Judge()


real, directory = judging.program, tempfile.mkdtemp()
errors, sys.stderr = sys.stderr, io.StringIO()
judging.program = lambda: os.path.join(directory, "acted")
assert refusal(RuntimeError, Judge).startswith("cannot start the judge: [Errno 2]")
assert refusal(RuntimeError, lambda: acted("os.kill(os.getpid(), 9)")) == "the judge has ended with status -9"
for status, kind in [(1, RuntimeError), (2, ValueError)]:
    words = f"os.write(2, b'warning: of many\\nerror: wrong\\nhint: right\\n')\nsys.exit({status})"
    assert refusal(kind, lambda: acted(words)) == "wrong\nhint: right"
assert sys.stderr.getvalue() == "warning: of many\n" * 2
# It may have more to say than a pipe holds before it begins, and die in the middle of an answer, or of one of its characters.
for half in (b'{"call": 0, "judge', b'{"call": 0, "error": "\xc3'):
    cut = acted(f"os.write(2, b' ' * 200_000)\ntell(begun)\nhear()\ntell({half!r})")
    assert refusal(RuntimeError, lambda: cut.judge([RIGHT], ["add"])) == "the judge has ended with status 0", half
# Whatever becomes of the stream for its warnings, it is read on: a judge whose pipe is full waits.
kept, sys.stderr = sys.stderr, None
warned = acted("tell(begun)\nhear()\nos.write(2, b'warning\\n' * 30_000)\ntell(b'{\"call\": 0, \"judgements\": [7]}\\n')\nhear()")
assert warned.judge([RIGHT], ["add"]) == [7]
sys.stderr = kept
# Ctrl-C while a call is written, which a pipe does not hold: the next one is answered.
play = """tell(begun)
heard = os.read(0, 1)
os.kill(os.getppid(), signal.SIGINT)
for line in iter(hear, b""):
    call = json.loads(heard + line)
    heard = b""
    tell(json.dumps({"call": call["call"], "judgements": [len(item["completion"]) for item in call["items"]]}).encode() + b"\\n")
"""
before = signal.signal(signal.SIGINT, signal.default_int_handler)
stopped = acted(play)
refusal(KeyboardInterrupt, lambda: stopped.judge(["x" * 1_000_000], ["add"]))
assert stopped.judge(["x"], ["add"]) == [1]
signal.signal(signal.SIGINT, before)
judging.program, sys.stderr = real, errors
shutil.rmtree(directory)

child = os.fork()
if child == 0:
    told = [refusal(RuntimeError, ask) for ask in (lambda: judge.judge([RIGHT], ["add"]), judge.requests)]
    os._exit(0 if all("made in another process" in words for words in told) else 1)
assert os.waitpid(child, 0)[1] == 0


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# A judge ends with the process that made it, though a fork of that one lives on, as a worker that loads data may.
reading, writing = os.pipe()
maker = os.fork()
if maker == 0:
    made = Judge(env=TASKS, workers=1)
    fork = os.fork()
    if fork == 0:
        time.sleep(300)
        os._exit(0)
    os.write(writing, f"{made._judging._child.pid} {fork}".encode())
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(maker, 0)
left, fork = map(int, os.read(reading, 100).split())
end = time.monotonic() + 60
while is_running(left) and time.monotonic() < end:
    time.sleep(0.1)
is_left = is_running(left)
os.kill(fork, signal.SIGKILL)
assert not is_left, "a judge goes on without the process that made it"
print("the package judges, refuses and lets others go on")
