"""Runs the cells of a notebook one after the other in one namespace."""
import ast
import collections
import contextlib
import inspect
import io
import itertools
import json.encoder
import linecache
import re
import sys
import textwrap
import traceback
import types

# Characters of a text that are told.
MOST = 65_536
# Bytes of a text as JSON: a cell tells four texts at most, which cross together in a mebibyte.
MOST_BYTES = 250_000
# Characters of the name of an exception.
MOST_OF_NAME = 1000
# Prompts of an interpreter, with their space, and of IPython, before its second line as well.
FIRST_PROMPT, PROMPT = r"\s*>>>", r"\s*(>>>|\.\.\.)[ \t]?"
BOTH_PROMPTS = r"(\s*>>>[ \t]?)?(\s*\.\.\.[ \t]?)?"
NUMBERED = r"(((\[nav\]|\[ins\])? )?In \[\d+\]: |\s*\.{3,}: ?)"
QUOTES = r"(?<!\\)(\"{3}|'{3})"
# The flag of code that has to be awaited, as `inspect.CO_COROUTINE`.
AWAITED = 0x80
# Columns of a line of what is displayed where it can be broken, and items of a value.
WIDEST, MOST_ITEMS = 79, 1000
# What may be a line end of what is displayed, what is one, and the end of a group.
BREAK, LINE, END = object(), object(), object()

_notebook = types.ModuleType("__main__")
_notebook.__builtins__ = __builtins__
sys.modules["__main__"] = _notebook


def _leave(keep_kernel=False):
    """Nothing: the next cell is answered all the same, as by IPython's kernel."""


_notebook.exit = _notebook.quit = _leave
# What `_` was last set to here.
_displayed = None
_quote = json.encoder.c_encode_basestring
# Not the attributes, which a class of a cell's own may define anew.
_traceback_of = BaseException.__dict__["__traceback__"].__get__
_name_of = type.__dict__["__name__"].__get__


class _Stream(io.StringIO):
    """One for all cells, since what a cell sets up may keep it, as `logging` does."""

    def close(self):
        """Nothing: the next cell prints too."""

    def taken(self):
        """What was written since the last time."""
        text = self.getvalue()
        # As new.
        self.__init__()
        return text


_out, _err = _Stream(), _Stream()


def _lines(name, module_globals=None):
    entry = linecache.cache.get(name, ())
    return entry[2] if len(entry) == 4 else []


def _line(name, number, module_globals=None):
    lines = _lines(name)
    return lines[number - 1] if 1 <= number <= len(lines) else ""


# The sources of the cells alone: there are no files to look for.
linecache.getlines, linecache.getline = _lines, _line


def _told(text, most=MOST):
    try:
        text = str(text)
    except BaseException:
        text = "<exception str() failed>"
    # Half of a surrogate pair does not cross.
    text = str.encode(text, "utf-8", "backslashreplace").decode()
    kept = text[:most]
    while len(_quote(kept).encode()) > MOST_BYTES:
        kept = kept[: len(kept) // 2]
    return kept if len(kept) == len(text) else kept + f"\n... {len(text) - len(kept)} characters more"


def _told_error(problem, name):
    """Name, message and traceback of an exception of the cell with this name."""
    # The first entries are those of this file.
    step = _traceback_of(problem)
    while step is not None and step.tb_frame.f_code.co_filename != name:
        step = step.tb_next
    kind, message = _told(_name_of(type(problem)), MOST_OF_NAME), _told(problem)
    try:
        lines = traceback.format_exception(type(problem), problem, step)
    except BaseException:
        # An exception that does not want to be shown.
        lines = [f"{kind}: {message}"]
    return [kind, message, _told("".join(lines))]


def _unprompted(line, prompt=PROMPT):
    found = re.match(prompt, line)
    return line[found.end() :] if found else line


def _are_texts(lines):
    """Whether each line is of a text that is a statement by itself, as far as IPython sees: prompts are part of it."""
    found, quotes, alone, prompted = [], None, False, False
    for line in lines:
        found.append(alone)
        for match in re.finditer(QUOTES, line):
            if quotes is None:
                quotes, before = match[1], line[: match.start()]
                code = _unprompted(before, BOTH_PROMPTS)
                alone = not (prompted and code != before) and not code.strip().strip("rubfRUBF")
                found[-1] = alone
            elif quotes == match[1]:
                quotes, alone = None, False
        prompted = prompted or re.match(FIRST_PROMPT, line) is not None
    return found


def _pasted(lines):
    """The lines of a session that was pasted with its prompts, without them."""
    texts = _are_texts(lines)
    if not any(re.match(FIRST_PROMPT, line) for line, text in zip(lines, texts) if not text):
        return lines
    kept = []
    for text, part in itertools.groupby(zip(texts, lines), lambda pair: pair[0]):
        part = [line for _, line in part]
        code = part if text else [_unprompted(line) for line in part]
        kept += code if code == part else textwrap.dedent("".join(code)).splitlines(True)
    return kept


def _cleaned(source):
    """A cell without blank lines at its top, common indentation and prompts, which IPython takes off too."""
    lines = source.splitlines(True)
    code = list(itertools.dropwhile(str.isspace, lines)) or lines
    lines = textwrap.dedent("".join(code)).splitlines(True)
    if ">>>" in source:
        lines = _pasted(lines)
    if any(re.match(NUMBERED, line) for line in lines[:2]):
        lines = [_unprompted(line, NUMBERED) for line in lines]
    return "".join(lines)


class _Parts(list):
    """What is displayed: texts, breaks, and groups of these, which begin with the number of columns they indent by."""

    def __init__(self):
        self.within = []

    def add(self, value):
        is_cycle = id(value) in self.within
        self.within.append(id(value))
        for base in type(value).__mro__:
            if base in SHOWN or "__repr__" in base.__dict__:
                SHOWN.get(base, _add_repr)(self, value, is_cycle)
                break
        self.within.pop()

    def add_group(self, ends, items, add):
        self += [ends[0], len(ends[0])]
        for place, item in enumerate(items):
            if place:
                self += [",", BREAK]
            # What comes after twice the characters that are told is cut in any case.
            if place == MOST_ITEMS or len(self) > 2 * MOST:
                self.append("...")
                break
            add(item)
        self += [END, ends[1]]

    def add_argument(self, argument):
        name, value = argument
        self += [name, len(name)]
        self.add(value)
        self.append(END)

    def fits(self, place, room):
        """Whether the group that begins at this place has room for itself and the text after it."""
        depth, has_ended = 0, False
        while place < len(self) and room >= 0:
            part = self[place]
            depth += (type(part) is int) - (part is END)
            has_ended = has_ended or depth == 0
            if part is LINE or (part is BREAK and has_ended):
                return has_ended
            room -= len(part) if type(part) is str else part is BREAK
            place += 1
        return room >= 0

    def text(self):
        """All of it, outer groups broken before inner ones."""
        told, column, groups = [], 0, [(0, False)]
        for place, part in enumerate(self):
            if type(part) is int:
                groups.append((groups[-1][0] + part, not self.fits(place, WIDEST - column)))
            elif part is END:
                groups.pop()
            elif part is LINE or (part is BREAK and groups[-1][1]):
                column = groups[-1][0]
                told.append("\n" + " " * column)
            else:
                told.append(" " if part is BREAK else part)
                column += len(told[-1])
        return "".join(told)


def _add_repr(parts, value, is_cycle=False):
    for number, line in enumerate(repr(value).splitlines()):
        parts += [LINE, line] if number else [line]


def _add_object(parts, value, is_cycle):
    parts.append("<")
    parts.add(type(value))
    parts.append(f" at {id(value):#x}>")


def _full_name(thing):
    module = thing.__module__
    return thing.__qualname__ if module in (None, "builtins") else f"{module}.{thing.__qualname__}"


def _add_class(parts, value, is_cycle):
    is_own = next(base for base in type(value).__mro__ if "__repr__" in base.__dict__) is not type
    _add_repr(parts, value) if is_own else parts.append(_full_name(value))


def _add_function(parts, value, is_cycle):
    try:
        parts.append(f"<function {_full_name(value)}{inspect.signature(value)}>")
    except Exception:
        # Not every function tells what it takes.
        parts.append(f"<function {_full_name(value)}>")


def _sorted(values):
    for key in (None, str):
        with contextlib.suppress(Exception):
            return sorted(values, key=key)
    return values


def _brackets(start, end):
    def add(parts, value, is_cycle):
        def add_item(key):
            parts.add(key)
            parts.append(": ")
            parts.add(value[key])

        is_set, is_single = isinstance(value, (set, frozenset)), isinstance(value, tuple) and len(value) == 1
        if is_cycle or (is_set and not value):
            parts.append(f"{start}...{end}" if is_cycle else f"{type(value).__name__}()")
        else:
            items = _sorted(value) if is_set and len(value) < MOST_ITEMS else value
            ends = (start, "," + end if is_single else end)
            parts.add_group(ends, items, add_item if isinstance(value, dict) else parts.add)

    return add


def _call(arguments, name=lambda value: type(value).__name__):
    def add(parts, value, is_cycle):
        if is_cycle:
            parts.append(f"{name(value)}(...)")
        else:
            parts.add_group((f"{name(value)}(", ")"), arguments(value), parts.add_argument)

    return add


SHOWN = {
    object: _add_object,
    type: _add_class,
    types.FunctionType: _add_function,
    types.BuiltinFunctionType: _add_function,
    list: _brackets("[", "]"),
    tuple: _brackets("(", ")"),
    dict: _brackets("{", "}"),
    set: _brackets("{", "}"),
    frozenset: _brackets("frozenset({", "})"),
    collections.defaultdict: _call(lambda value: [("", value.default_factory), ("", dict(value))]),
    collections.OrderedDict: _call(lambda value: [("", list(value.items()))] if value else []),
    collections.Counter: _call(lambda value: [("", dict(value.most_common()))] if value else []),
    collections.deque: _call(
        lambda value: [("", list(value))] + ([] if value.maxlen is None else [("maxlen=", value.maxlen)])
    ),
    BaseException: _call(lambda value: [("", one) for one in value.args], lambda value: _full_name(type(value))),
}


def _shown(value):
    """The text of a value as IPython shows it."""
    parts = _Parts()
    try:
        parts.add(value)
    except RecursionError:
        return repr(value)
    return parts.text()


def _is_quiet(source, last):
    """Whether a semicolon after the last statement asks to display nothing, as in IPython."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[last.end_lineno - 1].encode()[last.end_col_offset :].lstrip(b" \t\f").startswith(b";")


async def _awaited(codes, space):
    """Runs the parts of a cell that awaits; gives the value of the last one."""
    for code in codes:
        value = eval(code, space)
        if code.co_flags & AWAITED:
            value = await value
    return value


def _tree(source, name):
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    return compile(source, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)


def _run(source, name, space):
    """Runs a cell; gives the value of the expression that it ends in, or None."""
    try:
        tree = _tree(source, name)
    except SyntaxError:
        tree = None
    # What is Python with prompts and indentation keeps them, since they are in its texts.
    if tree is None:
        source = _cleaned(source)
        tree = _tree(source, name)
    parts = [(tree, "exec")]
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not _is_quiet(source, tree.body[-1]):
        parts.append((ast.Expression(tree.body.pop().value), "eval"))
    codes = [compile(part, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True) for part, mode in parts]
    if any(code.co_flags & AWAITED for code in codes):
        import asyncio

        # One event loop for the whole cell, so that what it starts before it awaits is in it.
        return asyncio.run(_awaited(codes, space))
    for code in codes:
        # Statements give None.
        value = eval(code, space)
    return value


def run_cell(source, number):
    """Gives standard output, error output, what is displayed or None, and the exception: name, message, traceback."""
    global _displayed
    name, space, shown, error = f"<cell {number}>", _notebook.__dict__, None, None
    with contextlib.redirect_stdout(_out), contextlib.redirect_stderr(_err):
        try:
            value = _run(source, name, space)
            # IPython takes the name of either for a call.
            if value is not None and value is not _leave:
                # A cell that has bound `_` keeps what it has bound.
                if space.get("_", _displayed) is _displayed:
                    space["_"] = _displayed = value
                shown = _told(_shown(value))
        except BaseException as problem:
            error = _told_error(problem, name)
    return [_told(_out.taken()), _told(_err.taken()), shown, error]
