def strategy(board):
    return "WASD" * 4
