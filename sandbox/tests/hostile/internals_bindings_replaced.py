# expect: gives "W"
import sys

bindings = sys.modules["wit_world"]
for name in list(vars(bindings)):
    if not name.startswith("__"):
        setattr(bindings, name, None)


def strategy(board):
    return "W"
