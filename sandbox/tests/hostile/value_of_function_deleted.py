# expect: raised NameError
def strategy(board):
    del globals()["strategy"]
    return 1
