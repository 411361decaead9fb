# expect: hang
def strategy(board):
    return "WASD"[pow(3, 1 << 100_000, (1 << 5000) + 1) % 4]
