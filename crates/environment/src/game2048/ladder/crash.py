def strategy(board):
    return "WASD"[board[0][4]]
