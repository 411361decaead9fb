# expect: hang
def strategy(board):
    return [0 for a in range(10**4) for b in range(10**4) for c in range(10**4) if a + b + c < 0][0]
