# expect: stack_overflow
import re


def strategy(board):
    re.compile("(" * 5000 + ")" * 5000)
    return "W"
