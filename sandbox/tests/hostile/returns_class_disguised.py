# expect: bad_value
class Move:
    __class__ = str

    def __len__(self):
        return 1

    def __str__(self):
        return "W"


def strategy(board):
    return Move()
