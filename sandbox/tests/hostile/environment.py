# expect: gives "0"
import os


def strategy(board):
    return str(len(os.environ))
