# expect: bad_value
def strategy(board):
    pass
