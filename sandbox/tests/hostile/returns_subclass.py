# expect: gives "W"
class Move(str):
    pass


def strategy(board):
    return Move("W")
