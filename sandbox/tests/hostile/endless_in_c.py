# expect: hang
def strategy(board):
    return "WASD"[sum(range(10**12)) % 4]
