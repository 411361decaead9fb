# expect: out_of_memory
import functools


@functools.lru_cache(maxsize=None)
def remember(index):
    return bytes(100_000)


def strategy(board):
    for index in range(10**6):
        remember(index)
    return "W"
