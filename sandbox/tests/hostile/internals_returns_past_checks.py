# expect: raised Trap
import sys


def strategy(board):
    names = sys._getframe(1).f_globals
    names["values"].write = lambda value: value
    return '"' + "W" * (1 << 20) + '"'
