# expect: gives ""
import sys


def strategy(board):
    return sys.stdin.readline()
