"""Runs the cells of a notebook one after the other in one namespace."""
import ast
import contextlib
import io
import linecache
import sys
import traceback
import types

# Characters of a text that are told.
MOST = 65_536

_notebook = types.ModuleType("__main__")
_notebook.__builtins__ = __builtins__
sys.modules["__main__"] = _notebook


def _told(text):
    text = text if isinstance(text, str) else str(text)
    return text if len(text) <= MOST else text[:MOST] + f"\n... {len(text) - MOST} characters more"


def _run(source, name, space):
    """Runs a cell; gives the value of the expression that it ends in, or None."""
    tree = compile(source, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), space)
    if last is not None:
        return eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), space)


def run_cell(source, number):
    """Gives standard output, error output, what is displayed or None, and the exception: name, message, traceback."""
    name, space, shown, error = f"<cell {number}>", _notebook.__dict__, None, None
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            value = _run(source, name, space)
            if value is not None:
                space["_"] = value
                shown = _told(repr(value))
        except BaseException as problem:
            # The first two entries are those of this file.
            step = problem.__traceback__
            while step is not None and step.tb_frame.f_code.co_filename != name:
                step = step.tb_next
            lines = traceback.format_exception(type(problem), problem, step)
            error = [type(problem).__name__, _told(problem), _told("".join(lines))]
    return [_told(out.getvalue()), _told(err.getvalue()), shown, error]
