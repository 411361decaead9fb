# expect: raised Trap
import sys

sys.modules["values"].write = lambda value: "1" * (1 << 21)


def strategy(board):
    return 1
