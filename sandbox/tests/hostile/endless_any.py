# expect: hang
import itertools


def strategy(board):
    return "W" if any(itertools.repeat(0)) else "A"
