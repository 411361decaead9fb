# expect: bad_value
def strategy(board):
    value = []
    for _ in range(10_000):
        value = [value]
    return value
