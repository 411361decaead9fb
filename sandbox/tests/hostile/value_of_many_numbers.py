# expect: bad_value
def strategy(board):
    return [7] * 1_000_000
