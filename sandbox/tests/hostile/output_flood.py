# expect: hang
def strategy(board):
    while True:
        print("W" * 10000)
