# expect: not_compiled 3
def strategy(board):
    return (
