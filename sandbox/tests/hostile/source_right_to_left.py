# expect: gives "W‮"
def strategy(board):
    move = "W‮"  # ⁦ "A"
    return move
