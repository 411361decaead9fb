"""The guest: loads one strategy and asks it for moves.

Componentized with every WASI call stubbed out, so the component has no imports. What is imported here is in the
snapshot and stays importable; nothing else is. The host trusts none of the checks below: they only give honest
programs ordinary Python errors where a stub would trap.
"""

import wit_world
from componentize_py_types import Err

# isort: off
# Importable by strategies, because already in sys.modules when the snapshot is taken.
import __future__, abc, array, bisect, builtins, calendar, cmath, codecs, collections, collections.abc, contextlib
import copy, dataclasses, datetime, decimal, enum, fractions, functools, graphlib, hashlib, heapq, inspect, io
import itertools, json, keyword, linecache, math, numbers, operator, os, pickle, pprint, queue, random, re, reprlib
import statistics, string, struct, sys, textwrap, time, tokenize, traceback, types, typing, warnings, weakref
# isort: on

MESSAGE_MAX = 200
RETURN_MAX = 16


class _Null:
    """Takes every byte, gives none."""

    encoding = "utf-8"

    def write(self, text):
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False

    def readline(self, *_):
        raise EOFError("a strategy has no input")

    read = readline

    def fileno(self):
        raise OSError("a strategy has no files")


sys.stdin = sys.__stdin__ = sys.stdout = sys.__stdout__ = sys.stderr = sys.__stderr__ = _Null()


def _no_input(prompt="", /):
    raise EOFError("a strategy has no input")


builtins.input = _no_input

# An unknown module is a ModuleNotFoundError; looking for it on a path would reach a stub and trap.
sys.path.clear()
sys.path_hooks.clear()
sys.path_importer_cache.clear()
sys.meta_path[:] = [
    finder for finder in sys.meta_path if getattr(finder, "__name__", "") in ("BuiltinImporter", "FrozenImporter")
]

# A traceback must not look for source files.
linecache.getlines = lambda *_, **__: []
linecache.getline = lambda *_, **__: ""


class _Clock:
    """Logical time: every reading is a millisecond later, so that `while time() < end` ends, always alike."""

    def __init__(self):
        self.readings = 0

    def read(self):
        self.readings += 1
        return self.readings


_clock = _Clock()
time.time = lambda: 1.7e9 + _clock.read() / 1000
time.time_ns = lambda: 1_700_000_000_000_000_000 + _clock.read() * 1_000_000
time.monotonic = time.perf_counter = time.process_time = time.thread_time = lambda: _clock.read() / 1000
time.monotonic_ns = time.perf_counter_ns = time.process_time_ns = lambda: _clock.read() * 1_000_000


def _no_sleep(_seconds, /):
    raise PermissionError("a strategy cannot sleep")


time.sleep = _no_sleep


class _Random(random.Random):
    """Seeded by the game where a strategy gives no seed: there is no entropy to be had."""

    default = 0

    def __init__(self, x=None):
        super().__init__(_Random.default if x is None else x)

    def seed(self, a=None, version=2):
        super().seed(_Random.default if a is None else a, version)


_generator = _Random()
random.Random = _Random
random._inst = _generator
for _name in (
    "seed", "random", "uniform", "triangular", "randint", "choice", "randrange", "sample", "shuffle", "choices",
    "normalvariate", "lognormvariate", "expovariate", "vonmisesvariate", "gammavariate", "gauss", "betavariate",
    "binomialvariate", "paretovariate", "weibullvariate", "getstate", "setstate", "getrandbits", "randbytes",
):
    setattr(random, _name, getattr(_generator, _name))

_DENIED = (
    "open", "os.", "socket.", "subprocess.", "shutil.", "ctypes.", "tempfile.", "glob.", "pathlib.", "time.sleep",
)


def _audit(event, _args, _denied=_DENIED, _error=PermissionError):
    if event.startswith(_denied):
        raise _error(f"a strategy cannot use {event}")


def _clean(text, limit=MESSAGE_MAX):
    return text[:limit].encode("utf-8", "replace").decode("utf-8", "replace").replace("\n", " ")


def _fault(kind, *fields):
    return Err("\n".join((kind, *(_clean(field) for field in fields))))


def _raised(error):
    try:
        message = str(error)
    except BaseException:
        message = ""
    return _fault("raised", type(error).__name__, message)


class WitWorld(wit_world.WitWorld):
    def compile(self, source):
        # Not at snapshot time: componentize-py itself still calls os.unsetenv after this module has run.
        sys.addaudithook(_audit)
        global _code
        try:
            _code = compile(source, "<strategy>", "exec", dont_inherit=True)
        except SyntaxError as error:
            raise _fault("not-compiled", str(error.lineno or 1), str(error.msg)) from None
        except (MemoryError, RecursionError) as error:
            raise _raised(error) from None
        except Exception as error:
            raise _fault("not-compiled", "1", f"{type(error).__name__}: {error}") from None

    def run(self, seed):
        _Random.default = seed
        _generator.seed(seed)
        try:
            names = {"__name__": "strategy", "__builtins__": builtins}
            exec(_code, names)
            function = names.get("strategy")
        except BaseException as error:
            raise _raised(error) from None
        if not callable(function):
            raise _fault("raised", "NameError", "no callable `strategy`")
        global _strategy
        _strategy = function

    def choose(self, board):
        try:
            move = _strategy([board[0:4], board[4:8], board[8:12], board[12:16]])
        except BaseException as error:
            raise _raised(error) from None
        if type(move) is not str:
            raise _fault("bad-value", type(move).__name__)
        if len(move) > RETURN_MAX:
            raise _fault("bad-value", f"str of {len(move)} characters")
        try:
            move.encode()
        except UnicodeError:
            raise _fault("bad-value", "str that is not text") from None
        return move
