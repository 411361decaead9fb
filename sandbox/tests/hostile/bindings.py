# expect: gives "W"
import sys


def strategy(board):
    bindings = sys.modules.get("wit_world")
    doors = [name for name in dir(bindings) if name in ("step", "host", "imports")]
    return "W" if not [door for door in doors if callable(getattr(bindings, door))] else "X"
