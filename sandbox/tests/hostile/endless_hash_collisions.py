# expect: hang
class Same:
    def __hash__(self):
        return 1


def strategy(board):
    return str(len({Same() for _ in range(10**5)}))
