# expect: hang
def strategy(board):
    try:
        return strategy(board)
    except RecursionError:
        return strategy(board)
