# expect: gives "P"
import builtins
import math
import random
import sys

math.log = builtins.max = random.random = lambda *_: 0
sys.modules["random"] = None
builtins.str = int
sys.stdout = None


def strategy(board):
    return "P"
