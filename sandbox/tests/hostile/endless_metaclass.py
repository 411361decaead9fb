# expect: hang
class Meta(type):
    def __call__(cls, *args):
        while True:
            pass


class Move(metaclass=Meta):
    pass


def strategy(board):
    return Move()
