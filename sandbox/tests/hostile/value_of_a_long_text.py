# expect: bad_value
def strategy(board):
    return "W" * 40_000_000
