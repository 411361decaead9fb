# expect: bad_value
def strategy(board):
    return "W\0"
