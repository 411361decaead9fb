# expect: gives "W"
import importlib
import library

for name in library.names():
    if ":" not in name:
        importlib.import_module(name)


def strategy(board):
    return "W"
