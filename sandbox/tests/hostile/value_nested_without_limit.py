# expect: bad_value
import sys

sys.setrecursionlimit(10**9)


def strategy(board):
    value = {}
    for _ in range(100_000):
        value = {1: value}
    return value
