"""Public graders of Python as rewards, for `grpo-2048 check --grader examples/graders/public_graders.py:NAME`.

Each is called as the benchmark or trainer that it comes with calls it, and needs that package (docs/audit.md has the versions). What is
installed is imported here, once: each batch is graded in a fork of this process.
"""

import importlib
import json


def installed(module):
    """This module, or None where its package is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None


EVALPLUS = installed("evalplus.eval")
BIGCODEBENCH = installed("bigcodebench.eval")
LIVECODEBENCH = installed("lighteval.tasks.tasks.lcb.codegen_metrics")
VERL = installed("verl.utils.reward_score")
DEEPEVAL = installed("deepeval.benchmarks.human_eval.human_eval")


def program(text):
    """The program of a completion, as all of these take it: its last block of Python, or the whole of it."""
    return text.split("```python")[-1].split("```")[0]


def each(grade):
    """A reward of one completion, as one of a list of them: with its task as keywords."""

    def reward(prompts, completions, **columns):
        rows = (dict(zip(columns, row)) for row in zip(*columns.values()))
        return [float(grade(text, **row)) for text, row in zip(completions, rows)]

    return reward


@each
def evalplus(text, entry_point, inputs, outputs, **_):
    """HumanEval+ and MBPP+: arguments and answers, compared by `==` in the process of the program."""
    seconds = [1.0] * len(inputs)
    asked = ("humaneval", program(text), inputs, entry_point, outputs, 0, seconds)
    status, _ = EVALPLUS.untrusted_check(*asked, min_time_limit=3.0)
    return status == EVALPLUS.PASS


@each
def bigcodebench(text, entry_point, asserts, **_):
    """BigCodeBench: a `unittest.TestCase` below the program, in its module."""
    test = "import unittest\ncandidate = " + entry_point + "\nclass TestCases(unittest.TestCase):\n"
    for number, line in enumerate(asserts):
        body = "".join(f"        {part}\n" for part in line.splitlines())
        test += f"    def test_{number}(self):\n{body}"
    limit = 4 * 1024
    asked = (program(text), test, entry_point, limit, limit, 10)
    status, _ = BIGCODEBENCH.untrusted_check(*asked, min_time_limit=3, gt_time_limit=3)
    return status == BIGCODEBENCH.PASS


def input_output(entry_point, inputs, outputs):
    """Tests in the format of APPS, in which LiveCodeBench and PRIME keep theirs, arguments as lines of JSON."""
    if entry_point is None:
        return {"inputs": inputs, "outputs": outputs}
    lines = ["\n".join(map(json.dumps, arguments)) for arguments in inputs]
    return {"fn_name": entry_point, "inputs": lines, "outputs": [json.dumps(answer) for answer in outputs]}


@each
def livecodebench(text, entry_point, inputs, outputs, **_):
    """LiveCodeBench as lighteval has it: `run_test` in a process that hands the list of its results back."""
    sample = {"input_output": json.dumps(input_output(entry_point, inputs, outputs))}
    results = LIVECODEBENCH.check_correctness(sample, program(text), timeout=6)
    return all(result is True or result > 0 for result in results)


@each
def prime_code(text, entry_point, inputs, outputs, **_):
    """PRIME's reward of code, which verl takes for APPS, TACO, CodeContests and Codeforces where no sandbox is named."""
    tests = input_output(entry_point, inputs, outputs)
    return VERL.default_compute_score("taco", text, json.dumps(tests))


@each
def deepeval(text, asserts, **_):
    """deepeval's HumanEval: the program with the text of its test behind it, in one `exec` in the process of the grader."""
    test = "".join(f"    {line}\n" for line in asserts)
    try:
        DEEPEVAL.secure_exec(program(text) + "\n" + f"def check(candidate):\n{test}")
        return 1
    except Exception:
        return 0
