# expect: raised Forged
import sys


def strategy(board):
    names = sys._getframe(1).f_globals
    forge = names["_fault"]
    names["_raised"] = lambda error: forge("not-compiled", "1000", "forged in a call")
    raise ValueError
