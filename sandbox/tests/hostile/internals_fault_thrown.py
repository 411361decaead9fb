# expect: raised Err
import sys


def strategy(board):
    raise sys._getframe(1).f_globals["Err"]("not-compiled\n9\nthrown")
