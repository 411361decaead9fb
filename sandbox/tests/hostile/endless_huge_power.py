# expect: hang
def strategy(board):
    return "WASD"[7 ** 10**7 % 4]
