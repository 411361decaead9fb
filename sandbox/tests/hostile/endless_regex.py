# expect: hang
import re


def strategy(board):
    re.match(r"(a+)+$", "a" * 64 + "b")
    return "W"
