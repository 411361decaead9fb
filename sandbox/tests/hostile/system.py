# expect: raised AttributeError
import os


def strategy(board):
    return os.system("true")
