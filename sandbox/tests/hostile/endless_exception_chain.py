# expect: raised ValueError
def strategy(board):
    error = None
    for index in range(20000):
        following = ValueError(index)
        following.__context__ = error
        error = following
    raise error
