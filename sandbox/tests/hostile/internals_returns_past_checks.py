# expect: bad_value
import sys


def strategy(board):
    sys._getframe(1).f_globals["WitWorld"].choose = lambda self, board: "W" * 1000
    sys._getframe(1).f_globals["RETURN_MAX"] = 10**9
    return "W" * 1000
