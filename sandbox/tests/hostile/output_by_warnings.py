# expect: gives "W"
import warnings


def strategy(board):
    for index in range(1000):
        warnings.warn(f"flood {index}")
    return "W"
