# expect: raised SystemExit
import os


def strategy(board):
    os._exit(0)
