# expect: raised Trap
import os


def strategy(board):
    os.abort()
