# expect: raised Trap
import os


def strategy(board):
    return os.read(0, 1)
