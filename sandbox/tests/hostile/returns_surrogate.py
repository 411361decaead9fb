# expect: bad_value
def strategy(board):
    return "\ud800"
