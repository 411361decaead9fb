# expect: hang
class Slow:
    def __lt__(self, other):
        return sum(range(10**6)) > 0


def strategy(board):
    sorted(Slow() for _ in range(10**4))
    return "W"
