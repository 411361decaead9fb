def strategy(board):
    best = None
    for move in "WASD":
        if board[0][0] < 0:
            best = move
    return best
