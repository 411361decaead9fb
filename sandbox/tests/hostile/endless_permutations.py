# expect: hang
import itertools


def strategy(board):
    return max(itertools.permutations(range(14)))
