"""Calls an evaluator of OpenEvolve's form, `evaluate(program_path)`, where there are no files: both are texts, `EVALUATOR_TEXT` and
`PROGRAM_TEXT`, and the path leads to the second one. `EVALUATOR_FILE` is how the first one is called."""

import builtins
import dataclasses
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import linecache
import math
import os
import signal
import stat
import sys
import tokenize
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

    def get_filename(self, name=None):
        return PATH

    def get_source(self, name=None):
        return PROGRAM_TEXT

    def get_data(self, path):
        return PROGRAM_TEXT.encode()


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


def access_to_program(path, mode, *_, **__):
    # It may be read, and neither written nor executed.
    return not mode & (os.W_OK | os.X_OK) if is_program(path) else None


def stat_of_program(path, *_, **__):
    size = len(PROGRAM_TEXT.encode())
    return os.stat_result((stat.S_IFREG | 0o444, 0, 0, 1, 0, 0, size, 0, 0, 0)) if is_program(path) else None


def size_of_program(path):
    return len(PROGRAM_TEXT.encode()) if is_program(path) else None


def lines_of_program(filename, module_globals=None):
    return PROGRAM_TEXT.splitlines(True) if is_program(filename) else None


def line_of_program(filename, lineno, module_globals=None):
    lines = lines_of_program(filename)
    return lines and "".join(lines[lineno - 1 : lineno] if lineno > 0 else [])


def never_rings(*_):
    return 0


@dataclasses.dataclass
class EvaluationResult:
    """What OpenEvolve's class of this name holds, which evaluators compare, and replace fields of."""

    metrics: dict
    artifacts: dict = dataclasses.field(default_factory=dict)

    @classmethod
    def from_dict(cls, metrics):
        return cls(metrics)

    def to_dict(self):
        return self.metrics

    def has_artifacts(self):
        return bool(self.artifacts)

    def get_artifact_keys(self):
        return list(self.artifacts)

    def get_artifact_size(self, key):
        value = self.artifacts.get(key, "")
        return len(value if isinstance(value, bytes) else str(value).encode())

    def get_total_artifact_size(self):
        return sum(map(self.get_artifact_size, self.artifacts))


def install():
    sys.meta_path.insert(0, ProgramFinder())
    instead(importlib.util, "spec_from_file_location", spec_of_program)
    instead(builtins, "open", open_program)
    instead(io, "open", open_program)
    # What `runpy.run_path` and `SourceFileLoader` read by.
    instead(io, "open_code", open_code_of_program)
    instead(importlib.machinery.SourceFileLoader, "get_code", code_of_program)
    # What `tokenize.open` reads by.
    instead(tokenize, "_builtin_open", open_program)
    for name in ("exists", "lexists", "isfile"):
        instead(os.path, name, program_exists)
    instead(os, "access", access_to_program)
    for name in ("stat", "lstat"):
        instead(os, name, stat_of_program)
    instead(os.path, "getsize", size_of_program)
    # What `inspect.getsource` reads by.
    instead(linecache, "getlines", lines_of_program)
    instead(linecache, "getline", line_of_program)
    # An evaluation ends with its budget, so that an evaluator's own alarm has nothing to end.
    signal.alarm, signal.setitimer, signal.ITIMER_REAL = never_rings, never_rings, 0
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


# What OpenEvolve's map of programs is drawn by unless it is told otherwise.
FEATURES = ("complexity", "diversity")


def is_flag(value):
    return type(value).__name__ in ("bool", "bool_")


def fitness(metrics):
    """What OpenEvolve ranks programs by: combined_score, also as a text, or the mean of all metrics that are numbers. True and
    False are none there, or a program that ran into a timeout would earn by saying so. Features count where nothing else does."""
    try:
        return float(metrics["combined_score"])
    except OverflowError:
        return math.inf
    except (KeyError, TypeError, ValueError):
        pass
    numbers = {key: number(value) for key, value in metrics.items() if not is_flag(value)}
    numbers = {key: value for key, value in numbers.items() if value is not None and not math.isnan(value)}
    ranked = [value for key, value in numbers.items() if key not in FEATURES] or list(numbers.values())
    return sum(ranked) / len(ranked) if ranked else None


def metrics_of(result):
    """The metrics that `evaluate` gave, in either form."""
    metrics = result if isinstance(result, dict) else getattr(result, "metrics", None)
    try:
        return dict(metrics)
    except (TypeError, ValueError):
        gave = type(result).__name__
    raise TypeError(f"evaluate gave a value of type {gave}, expected a dict of metrics or an EvaluationResult")


def text(words):
    """Their beginning, in which `?` stands for what is no text, such as a lone surrogate."""
    return words[:SHOWN].encode("utf-8", "replace").decode()


def told(error):
    """What was raised, and the last line on the way there that is of the program or of the evaluator."""
    place, step = "", error.__traceback__
    while step is not None:
        file, line = step.tb_frame.f_code.co_filename, step.tb_lineno
        place = {PATH: f" (line {line})", EVALUATOR_FILE: f" (line {line} of {EVALUATOR_FILE})"}.get(file, place)
        step = step.tb_next
    try:
        message = f": {error}"
    except BaseException:
        # What has no text, because `__str__` raises, is told by its class alone.
        message = ""
    return text(type(error).__name__ + message) + place


# The evaluator's function, when it is ready for a program.
evaluate = None


def prepared():
    """Runs the evaluator by itself, before it has the program, and tells what is wrong with it, if something is."""
    global evaluate
    install()
    evaluator = types.ModuleType("evaluator")
    evaluator.__file__ = "/evolved/evaluator.py"
    sys.modules["evaluator"] = evaluator
    try:
        exec(compile(EVALUATOR_TEXT, EVALUATOR_FILE, "exec"), evaluator.__dict__)
        evaluate = evaluator.evaluate
    except BaseException as error:
        return {"broken": told(error)}
    return None


def evaluated():
    """The score of the program and its metrics as text, or what went wrong with it."""
    try:
        metrics = metrics_of(evaluate(PATH))
        score, wrong = fitness(metrics), metrics.get("error")
        # A number of this name is a metric, such as a mean error.
        wrong = "" if number(wrong) is not None else str(wrong or "")
        metrics = json.dumps({str(key): str(value) if number(value) is None else number(value) for key, value in metrics.items()})
    except BaseException as error:
        return {"failed": told(error)}
    if wrong and not score:
        return {"failed": text(wrong)}
    if score is None or not abs(score) <= SCORE_MAX:
        return {"failed": f"its combined_score is {score}; its metrics are {metrics}"[:SHOWN]}
    return {"score": score, "metrics": metrics[:SHOWN]}
