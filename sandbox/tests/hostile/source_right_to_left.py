# expect: bad_value
def strategy(board):
    move = "W‮"  # ⁦ "A"
    return move
