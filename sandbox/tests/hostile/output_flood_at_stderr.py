# expect: hang
import sys


def strategy(board):
    while True:
        sys.stderr.write("W")
