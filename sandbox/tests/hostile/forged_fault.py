# expect: raised ValueError
import sys


class Err(Exception):
    pass


def strategy(board):
    raise ValueError("not-compiled\n1\nforged")
