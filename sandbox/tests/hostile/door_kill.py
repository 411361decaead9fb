# expect: raised PermissionError
import os


def strategy(board):
    os.kill(os.getpid(), 9)
    return "W"
