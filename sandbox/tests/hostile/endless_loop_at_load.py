# expect: hang
while True:
    pass


def strategy(board):
    return "W"
