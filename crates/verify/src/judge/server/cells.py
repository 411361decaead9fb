"""Runs the cells of a notebook one after the other in one namespace."""
import ast
import contextlib
import io
import json.encoder
import linecache
import sys
import traceback
import types

# Characters of a text that are told.
MOST = 65_536
# Bytes of a text as JSON: a cell tells four texts at most, which cross together in a mebibyte.
MOST_BYTES = 250_000
# Characters of the name of an exception.
MOST_OF_NAME = 1000
# The flag of code that has to be awaited, as `inspect.CO_COROUTINE`.
AWAITED = 0x80

_notebook = types.ModuleType("__main__")
_notebook.__builtins__ = __builtins__
sys.modules["__main__"] = _notebook
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


def _run(source, name, space):
    """Runs a cell; gives the value of the expression that it ends in, or None."""
    tree = compile(source, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
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
    name, space, shown, error = f"<cell {number}>", _notebook.__dict__, None, None
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    with contextlib.redirect_stdout(_out), contextlib.redirect_stderr(_err):
        try:
            value = _run(source, name, space)
            if value is not None:
                space["_"] = value
                shown = _told(repr(value))
        except BaseException as problem:
            error = _told_error(problem, name)
    return [_told(_out.taken()), _told(_err.taken()), shown, error]
