# expect: gives "W"
import time


def strategy(board):
    time.sleep(5)
    return "W"
