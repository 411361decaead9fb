# expect: raised ValueError
import sys


def stuck(*_):
    while True:
        pass


sys.excepthook = sys.unraisablehook = stuck


def strategy(board):
    raise ValueError("nobody prints this")
