# expect: raised Trap
import os


def strategy(board):
    return str(os.stat("/").st_size)
