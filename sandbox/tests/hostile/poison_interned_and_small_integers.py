# expect: gives "W"
import gc
import math
import sys

sys.setrecursionlimit(50)
sys.setswitchinterval(10)
sys.set_int_max_str_digits(640)
gc.disable()
math.log = lambda _: 0
sum_ = __builtins__.sum if hasattr(__builtins__, "sum") else None
__builtins__.sum = lambda _: 0
__builtins__.max = lambda *_: 0


def strategy(board):
    return "W"
