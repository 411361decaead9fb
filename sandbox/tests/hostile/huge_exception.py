# expect: raised ValueError
def strategy(board):
    raise ValueError("x" * 10_000_000)
