# expect: gives "W"
import sys


def strategy(board):
    frame = sys._getframe(1)
    frame.f_locals["move"] = "D"
    frame.f_locals["board"] = None
    return "W"
