# expect: raised SystemExit
def strategy(board):
    raise SystemExit
