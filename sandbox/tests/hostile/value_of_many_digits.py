# expect: bad_value
def strategy(board):
    return 1 << 50_000_000
