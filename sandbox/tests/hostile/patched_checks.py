# expect: bad_value
import builtins


def strategy(board):
    builtins.len = lambda _: 1
    return "W" * 100
