# expect: hang
class Stuck(Exception):
    def __str__(self):
        while True:
            pass


def strategy(board):
    raise Stuck()
