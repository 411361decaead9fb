# expect: raised EOFError
import sys


def strategy(board):
    return sys.stdin.readline()
