# expect: bad_value
def strategy(board):
    return "W" * 50_000_000
