"""Runs tests of numpy itself, in the sandbox and elsewhere alike: what they use of pytest, and no more.

Standard input: a line `NAME FIRST COUNT`, then the source of the test module. Prints a line for each of those tests, its
name and `passed`, `skipped` or what went wrong, and last how many there are. A test is skipped where it needs what is not offered: files,
processes, other packages, the C modules that numpy tests itself by.
"""

import contextlib
import inspect
import itertools
import re
import sys
import types
import warnings

ABSENT = (
    "hypothesis subprocess ctypes cffi multiprocessing bz2 lzma urllib.request numpy.linalg.tests numpy._core._multiarray_tests numpy._core._rational_tests numpy._core._umath_tests "
    "numpy._core._operand_flag_tests numpy._core._struct_ufunc_tests numpy._core._simd numpy.f2py numpy.distutils "
    "numpy.ctypeslib numpy._core.tests numpy.testing._private.extbuild numpy._pytesttester socket mmap "
    "numpy.testing.tests numpy.random.tests numpy.lib.tests numpy.ma.tests numpy.ma.testutils_ numpy.tests _ctypes"
).split()


class Skipped(Exception):
    pass


class Absent(types.ModuleType):
    """A module, function or class that is not there: a decorator skips its test, and any other use too."""

    running = False

    def __init__(self, name="absent"):
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *arguments, **_):
        if Absent.running:
            raise Skipped(f"needs {self.__name__}")
        if len(arguments) == 1 and isinstance(arguments[0], types.FunctionType):
            arguments[0].marks = [("skip", (True,), {})]
            return arguments[0]
        return self

    def __iter__(self):
        if Absent.running:
            raise Skipped(f"needs {self.__name__}")
        return iter(())

    def __or__(self, other):
        return self

    __ror__ = __getitem__ = __or__

    def __mro_entries__(self, bases):
        return (object,)


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if any(name == absent or name.startswith(absent + ".") for absent in ABSENT):
            import importlib.machinery

            return importlib.machinery.ModuleSpec(name, Finder, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        return Absent(spec.name)

    @staticmethod
    def exec_module(module):
        if module.__name__ == "numpy._core._rational_tests":
            # Modules of tests make a dtype of it when they are imported.
            module.rational = type("rational", (float,), {"__new__": lambda kind, n=0, d=1: float.__new__(kind, n / d)})


class Raises:
    def __init__(self, kinds, match=None):
        self.kinds, self.match, self.value, self.type = kinds, match, None, None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, _):
        assert kind is not None, f"did not raise {self.kinds}"
        if not issubclass(kind, self.kinds):
            return False
        self.value, self.type = value, kind
        if self.match is not None:
            assert re.search(self.match, str(value)), f"{self.match!r} is not in {str(value)!r}"
        return True


class Warns(warnings.catch_warnings):
    def __init__(self, kinds=Warning, match=None):
        super().__init__(record=True)
        self.kinds, self.match = kinds, match

    def __enter__(self):
        self.list = super().__enter__()
        warnings.simplefilter("always")
        return self.list

    def __exit__(self, kind, *rest):
        super().__exit__(kind, *rest)
        if kind is None:
            found = [w for w in self.list if issubclass(w.category, self.kinds)]
            assert found, f"no {self.kinds}"
            assert self.match is None or any(re.search(self.match, str(w.message)) for w in found), self.match


class Mark:
    def __getattr__(self, name):
        def mark(*arguments, **options):
            if len(arguments) == 1 and not options and isinstance(arguments[0], (types.FunctionType, type)) and name not in ("parametrize",):
                return mark()(arguments[0])

            def decorate(test):
                own = test.__dict__.get("marks", [])
                test.marks = [*own, (name, arguments, options)]
                return test

            decorate.marks = [(name, arguments, options)]
            return decorate

        mark.marks = [(name, (), {})]
        return mark


class Param:
    def __init__(self, *values, marks=(), id=None):
        self.values = values
        given = marks if isinstance(marks, (list, tuple)) else [marks]
        self.marks = [mark for one in given for mark in one.marks]


def fixture(function=None, **options):
    def decorate(function):
        function.suite_fixture = options
        return function

    return decorate if function is None else decorate(function)


def call(function, *arguments, **options):
    with function:
        return arguments[0](*arguments[1:], **options)


def is_fixture(found):
    return isinstance(found, (types.FunctionType, types.MethodType)) and hasattr(found, "suite_fixture")


def raises(kinds, *arguments, match=None, **options):
    return call(Raises(kinds), *arguments, **options) if arguments else Raises(kinds, match)


def warns(kinds=Warning, *arguments, match=None, **options):
    return call(Warns(kinds), *arguments, **options) if arguments else Warns(kinds, match)


def skip(reason="", **_):
    raise Skipped(reason)


def fail(reason="", **_):
    raise AssertionError(reason)


def importorskip(name, **_):
    return Absent(name)


class Approx:
    def __init__(self, value, rel=None, abs=None):
        self.value, self.rel, self.abs = value, 1e-6 if rel is None else rel, 1e-12 if abs is None else abs

    def __eq__(self, other):
        return abs(other - self.value) <= max(self.abs, self.rel * abs(self.value))


def pytest():
    module = types.ModuleType("pytest")
    module.__dict__.update(
        mark=Mark(), param=Param, fixture=fixture, raises=raises, warns=warns, skip=skip, fail=fail, approx=Approx,
        importorskip=importorskip, xfail=skip, deprecated_call=lambda: Warns((DeprecationWarning, PendingDeprecationWarning)),
        PytestUnraisableExceptionWarning=Warning, FixtureRequest=object, Mark=object, MonkeyPatch=object,
    )  # fmt: skip
    return module


class MonkeyPatch:
    def __init__(self):
        self.undo = []

    def setattr(self, target, name, value):
        old = getattr(target, name)
        self.undo.append(lambda: setattr(target, name, old))
        setattr(target, name, value)

    @contextlib.contextmanager
    def context(self):
        patch = MonkeyPatch()
        yield patch
        patch.end()

    def end(self):
        while self.undo:
            self.undo.pop()()


def parameters(marks):
    """All combinations of the values of parametrised names, each with marks of its own."""
    axes = []
    for name, arguments, options in marks:
        if name == "parametrize":
            names, values = (arguments + tuple(options[key] for key in ("argnames", "argvalues") if key in options))[:2]
            names = [n.strip() for n in names.split(",") if n.strip()] if isinstance(names, str) else list(names)
            axis = []
            for value in values:
                own = value.marks if isinstance(value, Param) else []
                if isinstance(value, Param):
                    value = value.values if len(names) > 1 else value.values[0]
                axis.append((dict(zip(names, value)) if len(names) > 1 else {names[0]: value}, own))
            axes.append((axis, bool(options.get("indirect"))))
    for chosen in itertools.product(*(axis for axis, _ in axes)):
        given, own = {}, []
        for one, marks in chosen:
            given.update(one)
            own += marks
        yield given, own


def tests(names):
    """Name, class or None, function, parameters and marks of each test."""
    module_marks = [m for one in _listed(names.get("pytestmark")) for m in one.marks]
    for name, test in list(names.items()):
        if name.startswith("test") and isinstance(test, types.FunctionType):
            yield from combined(name, None, test, module_marks + test.__dict__.get("marks", []))
        elif name.startswith("Test") and isinstance(test, type) and "__init__" not in test.__dict__:
            for method in dict.fromkeys(m for base in test.__mro__[::-1] for m in base.__dict__):
                function = inspect.getattr_static(test, method)
                if method.startswith("test") and isinstance(function, (types.FunctionType, staticmethod)):
                    plain = getattr(function, "__func__", function)
                    own = [m for base in test.__mro__[::-1] for m in base.__dict__.get("marks", [])]
                    marks = module_marks + own + plain.__dict__.get("marks", [])
                    yield from combined(f"{name}.{method}", test, getattr(test, method), marks)


def _listed(marks):
    return marks if isinstance(marks, (list, tuple)) else [] if marks is None else [marks]


def combined(name, owner, function, marks):
    for number, (given, own) in enumerate(parameters(marks)):
        yield f"{name}[{number}]", owner, function, given, marks + own


def is_skipped(marks):
    for name, arguments, options in marks:
        if name in ("skip", "xfail", "slow") and (not arguments or arguments[0]):
            return True
        if name == "skipif" and (arguments[0] if arguments else options.get("condition")):
            return True
    return False


class Fixtures:
    """What a test asks for by the names of its parameters."""

    def __init__(self, names, instance, given):
        self.names, self.instance, self.given, self.ends, self.made = names, instance, given, [], {}

    def function(self, name):
        found = getattr(self.instance, name, None) if self.instance is not None else None
        found = found if is_fixture(found) else self.names.get(name)
        return found if is_fixture(found) else None

    def value(self, name, param=None):
        if name in self.given:
            return self.given[name]
        if name not in self.made:
            self.made[name] = self.make(name, param)
        return self.made[name]

    def make(self, name, param):
        if name == "monkeypatch":
            patch = MonkeyPatch()
            self.ends.append(patch.end)
            return patch
        function = self.function(name)
        if function is None:
            raise Skipped(f"needs {name}")
        request = types.SimpleNamespace(param=param, node=types.SimpleNamespace(name=name), addfinalizer=self.ends.append)
        value = function(**{n: request if n == "request" else self.value(n) for n in inspect.signature(function).parameters})
        if inspect.isgenerator(value):
            generator, value = value, next(value)
            self.ends.append(lambda: next(generator, None))
        return value


def run(names, owner, function, given):
    instance = owner() if owner is not None else None
    if owner is not None and inspect.getattr_static(owner, function.__name__).__class__ is types.FunctionType:
        function = getattr(instance, function.__name__)
    wanted = [n for n in inspect.signature(function).parameters]
    with_params = [n for n in wanted if n not in given]
    probe = Fixtures(names, instance, given)
    axes = []
    for name in with_params:
        found = probe.function(name)
        axes.append([(name, p) for p in found.suite_fixture.get("params") or [None]] if found is not None else [(name, None)])
    for chosen in itertools.product(*axes):
        one_run(names, instance, owner, function, given, wanted, dict(chosen))


def one_run(names, instance, owner, function, given, wanted, params):
    fixtures = Fixtures(names, instance, given)
    try:
        for method in ("setup_class", "setup_method", "setup"):
            if hasattr(instance, method) and not is_fixture(getattr(instance, method)):
                setup = getattr(instance, method)
                setup(*[function] * len(inspect.signature(setup).parameters))
        for name in list(vars(owner) if owner is not None else ()) + list(names):
            found = fixtures.function(name)
            if found is not None and found.suite_fixture.get("autouse"):
                fixtures.value(name)
        function(**{name: fixtures.value(name, params.get(name)) for name in wanted})
    finally:
        for method in ("teardown_method", "teardown"):
            if hasattr(instance, method):
                ended = getattr(instance, method)
                ended(*[function] * len(inspect.signature(ended).parameters))
        while fixtures.ends:
            fixtures.ends.pop()()


def outcome(names, owner, function, given, marks):
    if is_skipped(marks):
        return "skipped"
    import numpy

    numpy.random.seed(1)
    Absent.running = True
    with warnings.catch_warnings(), numpy.errstate(), numpy.printoptions():
        warnings.simplefilter("error")
        for name, arguments, _ in marks:
            if name == "filterwarnings":
                action, _, rest = arguments[0].partition(":")
                message, _, kind = rest.partition(":")
                warnings.filterwarnings(action, message, getattr(__builtins__, kind, Warning) if kind else Warning)
        for kind in (PendingDeprecationWarning, ImportWarning, SyntaxWarning):
            warnings.simplefilter("ignore", kind)
        try:
            run(names, owner, function, given)
            return "passed"
        except Skipped:
            return "skipped"
        except BaseException as error:
            if type(error).__name__ in ("SkipTest", "PermissionError", "FileNotFoundError"):
                return "skipped"
            step, line = error.__traceback__, 0
            while step is not None:
                line = step.tb_lineno if step.tb_frame.f_code.co_filename == "<suite>" else line
                step = step.tb_next
            return f"failed: {type(error).__name__} line {line}: {' '.join(str(error).split())[:300]}"
        finally:
            Absent.running = False


def main():
    head, _, source = sys.stdin.read().partition("\n")
    module, first, count = head.split()
    sys.meta_path.insert(0, Finder)
    sys.modules["pytest"] = pytest()
    names = {"__name__": module, "__file__": f"/{module}.py", "__package__": module.rpartition(".")[0]}
    sys.modules[module] = types.ModuleType(module)
    sys.modules[module].__dict__.update(names)
    names = sys.modules[module].__dict__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "<suite>", "exec", dont_inherit=True), names)
            found = list(tests(names))
        except Skipped:
            found = []
    for name, *rest in found[int(first) : int(first) + int(count)]:
        print(name, outcome(names, *rest))
    print("tests:", len(found))


main()
