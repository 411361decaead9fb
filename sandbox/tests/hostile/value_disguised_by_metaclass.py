# expect: raised TypeError
class Disguise(type):
    def __hash__(cls):
        return hash(str)

    def __eq__(cls, other):
        return other is str


class Anything(metaclass=Disguise):
    def __len__(self):
        return 1


def strategy(board):
    return [Anything()]
