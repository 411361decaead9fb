# expect: raised MemoryError not-compiled
class Meta(type):
    @property
    def __name__(cls):
        return "MemoryError\nnot-compiled"


class Boom(Exception, metaclass=Meta):
    pass


def strategy(board):
    raise Boom()
