# expect: gives "W"
import chance
import os

chance.seed(1)
chance._entropy = None
os.urandom(8)


def strategy(board):
    return "W"
