# expect: hang
import collections
import itertools


def strategy(board):
    collections.deque(itertools.count(), maxlen=0)
    return "W"
