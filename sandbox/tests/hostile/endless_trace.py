# expect: hang
import sys


def stuck(*_):
    while True:
        pass


def strategy(board):
    sys.settrace(stuck)
    return (lambda: "W")()
