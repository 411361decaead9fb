# expect: raised str
import sys


def strategy(board):
    sys._getframe(1).f_globals["type"] = lambda _: str
    sys._getframe(1).f_globals["len"] = lambda _: 1

    class Number(int):
        def encode(self):
            return b"W"

    return Number(7)
