# expect: raised AttributeError
import os


def strategy(board):
    return str(os.fork())
