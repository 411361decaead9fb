# expect: stack_overflow
import sys

sys.setrecursionlimit(10**9)


class Mirror:
    def __repr__(self):
        return repr(self)


def strategy(board):
    return repr(Mirror())
