import sys


def answer(arguments):
    return sys.stdin.read() or input()
