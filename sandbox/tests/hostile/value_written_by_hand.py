# expect: bad_value
import sys

sys.modules["values"].write = lambda value: "\n\x1b[2J"


def strategy(board):
    return 1
