# expect: bad_value
def strategy(board):
    while True:
        yield "W"
