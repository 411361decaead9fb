# expect: raised PermissionError
import os


def strategy(board):
    return os.listdir("/")[0]
