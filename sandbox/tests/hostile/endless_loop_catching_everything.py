# expect: hang
def strategy(board):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
