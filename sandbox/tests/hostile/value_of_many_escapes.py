# expect: bad_value
def strategy(board):
    return "\0" * 500_000
