# expect: hang
def strategy(board):
    while True:
        pass
