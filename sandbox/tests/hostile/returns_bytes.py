# expect: bad_value
def strategy(board):
    return b"W"
