import sys


def answer(arguments):
    sys.setrecursionlimit(len(arguments) + 60)
    return None
