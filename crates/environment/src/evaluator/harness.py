"""Calls an evaluator of OpenEvolve's form, `evaluate(program_path)`, where there are no files: both are texts, `EVALUATOR_TEXT` and
`PROGRAM_TEXT`, and the path leads to the second one."""

import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import math
import os
import sys
import types

PATH = "/evolved/evolved_program.py"
NAME = "evolved_program"
SHOWN = 1000
# Beyond it sums of scores leave the range of floats, as in games.
SCORE_MAX = 1e30


class ProgramLoader(importlib.abc.Loader):
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__file__ = PATH
        exec(compile(PROGRAM_TEXT, PATH, "exec"), module.__dict__)


class ProgramFinder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, ProgramLoader(), origin=PATH) if name == NAME else None


def is_program(path):
    return isinstance(path, (str, os.PathLike)) and os.fspath(path) == PATH


def instead(module, name, ours):
    """Has `module.name` answer for the program's path as `ours` does, and for all others as before."""
    before = getattr(module, name)

    def answer(*arguments, **named):
        mine = ours(*arguments, **named)
        return before(*arguments, **named) if mine is None else mine

    setattr(module, name, answer)


def spec_of_program(name, location=None, **_):
    return importlib.machinery.ModuleSpec(name, ProgramLoader(), origin=PATH) if is_program(location) else None


def open_program(file, mode="r", *_, **__):
    if not is_program(file) or set(mode) - set("rbt"):
        return None
    return io.BytesIO(PROGRAM_TEXT.encode()) if "b" in mode else io.StringIO(PROGRAM_TEXT)


def open_code_of_program(path):
    return open_program(path, "rb")


def code_of_program(loader, fullname):
    return compile(PROGRAM_TEXT, PATH, "exec") if is_program(loader.path) else None


def program_exists(path):
    return True if is_program(path) else None


class EvaluationResult:
    """What OpenEvolve's class of this name holds."""

    def __init__(self, metrics=None, artifacts=None):
        self.metrics, self.artifacts = metrics or {}, artifacts or {}

    @classmethod
    def from_dict(cls, metrics):
        return cls(metrics)

    def to_dict(self):
        return self.metrics


def install():
    sys.meta_path.insert(0, ProgramFinder())
    instead(importlib.util, "spec_from_file_location", spec_of_program)
    instead(builtins, "open", open_program)
    instead(io, "open", open_program)
    # What `runpy.run_path` and `SourceFileLoader` read by.
    instead(io, "open_code", open_code_of_program)
    instead(importlib.machinery.SourceFileLoader, "get_code", code_of_program)
    for name in ("exists", "isfile"):
        instead(os.path, name, program_exists)
    package, module = types.ModuleType("openevolve"), types.ModuleType("openevolve.evaluation_result")
    package.evaluation_result, package.__path__, module.EvaluationResult = module, [], EvaluationResult
    sys.modules.update({"openevolve": package, "openevolve.evaluation_result": module})


def number(value):
    """A metric as a float; none if it is no number, such as a text that tells of an error."""
    if isinstance(value, (str, bytes, bytearray)) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def fitness(metrics):
    """What OpenEvolve ranks programs by: combined_score, or the mean of all metrics that are numbers."""
    if "combined_score" in metrics:
        return number(metrics["combined_score"])
    numbers = [value for value in map(number, metrics.values()) if value is not None and not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else None


def told(error):
    return f"{type(error).__name__}: {error}"[:SHOWN]


def evaluated():
    """The score of the program and its metrics as text, or what went wrong: in the evaluator by itself, or with this program."""
    install()
    evaluator = types.ModuleType("evaluator")
    evaluator.__file__ = "/evolved/evaluator.py"
    sys.modules["evaluator"] = evaluator
    try:
        exec(compile(EVALUATOR_TEXT, "evaluator.py", "exec"), evaluator.__dict__)
        evaluate = evaluator.evaluate
    except BaseException as error:
        return {"broken": told(error)}
    try:
        result = evaluate(PATH)
        metrics = dict(result if isinstance(result, dict) else result.metrics)
        score, wrong = fitness(metrics), metrics.get("error")
        # A number of this name is a metric, such as a mean error.
        wrong = "" if number(wrong) is not None else str(wrong or "")
        metrics = json.dumps({str(key): str(value) if number(value) is None else number(value) for key, value in metrics.items()})
    except BaseException as error:
        return {"failed": told(error)}
    if wrong and not score:
        return {"failed": wrong[:SHOWN]}
    if score is None or not abs(score) <= SCORE_MAX:
        return {"failed": f"its combined_score is {score}; its metrics are {metrics}"[:SHOWN]}
    return {"score": score, "metrics": metrics[:SHOWN]}
