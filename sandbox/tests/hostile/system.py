# expect: raised PermissionError
import os


def strategy(board):
    return os.system("true")
