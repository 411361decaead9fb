# expect: bad_value
def strategy(board):
    return "\uff37"
