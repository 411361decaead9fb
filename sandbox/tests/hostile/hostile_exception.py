# expect: raised Boom
class Boom(Exception):
    def __str__(self):
        raise self


def strategy(board):
    raise Boom()
