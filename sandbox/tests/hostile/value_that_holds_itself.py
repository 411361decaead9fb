# expect: bad_value
def strategy(board):
    board.append(board)
    return {"board": board}
