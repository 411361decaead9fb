# expect: hang
class Stuck:
    def __del__(self):
        while True:
            pass


def strategy(board):
    Stuck()
    return "W"
