# expect: gives 1
import os


def strategy(board):
    return os.write(1, b"W")
