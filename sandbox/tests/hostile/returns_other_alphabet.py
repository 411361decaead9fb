# expect: gives "Ｗ"
def strategy(board):
    return "\uff37"
