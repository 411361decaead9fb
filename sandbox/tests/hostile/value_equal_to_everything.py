# expect: bad_value
class Anything:
    def __eq__(self, other):
        return True

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __hash__(self):
        return 0


def strategy(board):
    return [Anything()]
