# expect: stack_overflow
def strategy(board):
    return strategy(board)
