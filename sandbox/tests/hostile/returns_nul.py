# expect: gives "W\u0000"
def strategy(board):
    return "W\0"
