# expect: raised ExceptionGroup
def strategy(board):
    error = ValueError(1)
    for _ in range(200):
        error = ExceptionGroup("deep", [error])
    raise error
