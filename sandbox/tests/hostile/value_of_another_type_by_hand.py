# expect: raised Trap
import sys

sys.modules["values"].write = lambda value: 7


def strategy(board):
    return 1
