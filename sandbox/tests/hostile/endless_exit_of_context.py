# expect: hang
class Stuck:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        while True:
            pass


def strategy(board):
    with Stuck():
        return "W"
