# expect: gives "W"
import sys

sys.modules.clear()


def strategy(board):
    return "W"
