def strategy(board):
    best = max("WASD", key=lambda move: (
    return best
