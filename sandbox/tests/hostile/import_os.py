# expect: plays W
import os


def strategy(board):
    return "W"
