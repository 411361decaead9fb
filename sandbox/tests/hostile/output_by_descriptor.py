# expect: raised Trap
import os


def strategy(board):
    return os.write(1, b"W")
