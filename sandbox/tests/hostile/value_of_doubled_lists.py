# expect: hang
def strategy(board):
    value = [1, "a"]
    for _ in range(38):
        value = [value, value]
    return value
