# expect: plays W
import sys

sys.modules.clear()


def strategy(board):
    return "W"
