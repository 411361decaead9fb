# expect: hang
import re


def strategy(board):
    re.search(r"(x|x)*(x|x)*(x|x)*y", "x" * 200)
    return "W"
