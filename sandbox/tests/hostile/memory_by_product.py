# expect: out_of_memory
import itertools


def strategy(board):
    return next(itertools.product([0, 1], repeat=10**8))
