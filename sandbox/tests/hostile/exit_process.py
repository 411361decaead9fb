# expect: raised Trap
import os


def strategy(board):
    os._exit(0)
