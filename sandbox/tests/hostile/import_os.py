# expect: gives "W"
import os


def strategy(board):
    return "W"
