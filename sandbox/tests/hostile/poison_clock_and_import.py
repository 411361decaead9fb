# expect: gives "W"
import builtins
import time

real = builtins.__import__
builtins.__import__ = lambda name, *rest: real("time", *rest)
time.time = lambda: 0
[time.monotonic() for _ in range(1000)]


def strategy(board):
    return "W"
