# expect: gives "W"
# coding: no-such-encoding
def strategy(board):
    return "W"
