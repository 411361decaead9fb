# expect: bad_value
def strategy(board):
    return 7
