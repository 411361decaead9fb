# expect: hang
import math


def strategy(board):
    return str(math.factorial(10**7) % 4)
