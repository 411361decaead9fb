# expect: gives "W"
import time


def strategy(board):
    end = time.time() + 0.05
    while time.time() < end:
        pass
    return "W"
