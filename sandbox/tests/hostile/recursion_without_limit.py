# expect: hang
import sys

sys.setrecursionlimit(10**9)


def strategy(board):
    return strategy(board)
