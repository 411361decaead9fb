"""The guest: runs one program and calls its functions.

Componentized with every WASI call stubbed out, so the component has no imports. What is imported here is in the
snapshot and stays importable; nothing else is. The host trusts none of the checks below: they only give honest
programs ordinary Python errors where a stub would trap.
"""

import wit_world
from componentize_py_types import Err

# isort: off
# Time is replaced before the rest of the library keeps references to it.
import clock
# Importable by programs, because already in sys.modules when the snapshot is taken.
import snapshot
# isort: on
import atexit
import builtins
import gc
import linecache
import logging
import marshal
import sys
import types

import chance
import library
import sizes
import streams
import system
import threads
import values

# The name of the file that a program's lines are counted in.
PROGRAM = "<program>"
MESSAGE_MAX = 200
# Characters of a short answer; escaped, they are far fewer than may cross.
SHORT = 1000

_loads, _quote = marshal.loads, values.quote

# A program that has no handler of its own has nothing to shut down.
_HANDLERS = len(logging._handlerList)
atexit.unregister(logging.shutdown)

# An unknown module is a ModuleNotFoundError; looking for it on a path would reach a stub and trap.
sys.path.clear()
sys.path_hooks.clear()
sys.path_importer_cache.clear()
sys.meta_path[:] = [
    finder for finder in sys.meta_path if getattr(finder, "__name__", "") in ("BuiltinImporter", "FrozenImporter")
]
sys.meta_path.append(library.LibraryFinder)

# A traceback must not look for source files.
linecache.getlines = lambda *_, **__: []
linecache.getline = lambda *_, **__: ""


class _Denied(str):
    """The name of an event that refuses to be compared, so that finding it in a table is an error."""

    __hash__ = str.__hash__

    def __eq__(self, event):
        raise PermissionError(f"a program cannot use {event}")


_EVENTS = (
    "open os.chdir os.chmod os.chown os.exec os.fork os.kill os.link os.listdir os.mkdir os.posix_spawn os.putenv "
    "os.remove os.rename os.rmdir os.scandir os.symlink os.system os.truncate os.unsetenv os.utime os.walk time.sleep"
)
# Called for every event, a call from the host among them: a look-up costs a third of what a function of Python would.
_audit = dict.fromkeys(map(_Denied, _EVENTS.split())).get


def _clean(text, limit=MESSAGE_MAX):
    return text[:limit].encode("utf-8", "replace").decode("utf-8", "replace").replace("\n", " ")


def _fault(kind, *fields):
    return Err("\n".join((kind, *(_clean(field) for field in fields))))


# Not the attribute, which a class of the program's own may define anew.
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def _line_of(error):
    """The last line of the program that the exception passed through, 0 if none."""
    line, step = 0, _traceback_of(error)
    while step is not None:
        if step.tb_frame.f_code.co_filename == PROGRAM:
            line = step.tb_lineno
        step = step.tb_next
    return str(line)


def _full_name(kind):
    """As a traceback has it."""
    module = kind.__module__
    return f"{kind.__qualname__}" if module in ("__main__", "builtins") else f"{module}.{kind.__qualname__}"


def _raised(error):
    kind = type(error)
    try:
        message = str(error)
    except BaseException:
        message = ""
    try:
        line = _line_of(error)
    except BaseException:
        line = "0"
    try:
        full_name = _full_name(kind)
    except BaseException:
        full_name = ""
    return _fault("raised", kind.__name__, line, message, full_name)


def _find(name):
    """What a name stands for that is not one of the program's own: `Class.method` is the method of a fresh object.

    Behind a space is a name whose arguments have bytearrays in them.
    """
    if name[:1] == " ":
        name = name[1:]
        found = _names[name] if name in _names else _find(name)
        return lambda *arguments: found(*map(values.with_bytearrays, arguments))
    owner, _, method = name.partition(".")
    if not method or owner not in _names:
        raise NameError(f"no function `{name}`")
    return getattr(_names[owner](), method)


def _run_script(stdin):
    """Runs the program as the interpreter runs a script; gives what it printed."""
    output = streams.Output()
    streams.connect(stdin, output)
    stdout = sys.stdout
    try:
        try:
            exec(_code, _names)
        except SystemExit as error:
            # A system keeps eight bits of a number that fits 64; anything else is a failure.
            code = error.code
            if code is not None and not (isinstance(code, int) and code % 256 == 0 and -(2**63) <= code < 2**63):
                raise
        streams.hand_on()
        atexit._run_exitfuncs()
        if len(logging._handlerList) > _HANDLERS:
            logging.shutdown()
        streams.finish(stdout)
    except BaseException:
        # Left by `os._exit`, whatever became of its exception.
        if output.left is None:
            raise
    if output.left is not None and output.left % 256:
        raise SystemExit(output.left)
    if output.size > streams.OUTPUT_MAX:
        raise values.BadValue(f"more than {streams.OUTPUT_MAX} bytes of output")
    return b"".join(output.parts)


class WitWorld(wit_world.WitWorld):
    def compile(self, source):
        # Not at snapshot time: componentize-py itself still calls os.unsetenv after this module has run.
        sys.addaudithook(_audit)
        global _code
        sizes.suit(source)
        streams.suit(source)
        try:
            _code = compile(source, PROGRAM, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise _fault("not-compiled", str(error.lineno or 1), str(error.msg)) from None
        except (MemoryError, RecursionError) as error:
            raise _raised(error) from None
        except Exception as error:
            raise _fault("not-compiled", "1", f"{type(error).__name__}: {error}") from None

    def run(self, seed, name, stdin):
        chance.seed(seed)
        sys.argv = sys.orig_argv = ["program.py"]
        module = sys.modules[name] = types.ModuleType(name)
        module.__builtins__, module.__file__ = builtins, "/program.py"
        global _names
        _names = module.__dict__
        try:
            if name != "__main__":
                exec(_code, _names)
                return b""
            return _run_script(stdin)
        except values.BadValue as error:
            raise _fault("bad-value", str(error)) from None
        except BaseException as error:
            raise _raised(error) from None

    def call(self, function, arguments):
        try:
            try:
                found = _names[function]
            except KeyError:
                found = _find(function)
            value = found(*_loads(arguments))
            # Most answers are a short text.
            if type(value) is str and value.isascii() and len(value) <= SHORT:
                return _quote(value)
            return values.write(value)
        except values.BadValue as error:
            raise _fault("bad-value", str(error)) from None
        except BaseException as error:
            raise _raised(error) from None


# What elsewhere is written for this system alone works here.
sys.platform = "linux"
library.keep()

# No collection of a program's garbage looks at what was there before it.
gc.collect()
gc.freeze()
