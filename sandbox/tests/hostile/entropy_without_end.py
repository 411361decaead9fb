# expect: out_of_memory
import os


def strategy(board):
    return os.urandom(1 << 30)
