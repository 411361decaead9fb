# expect: hang
import gc


class Stuck:
    def __init__(self):
        self.me = self

    def __del__(self):
        while True:
            pass


def strategy(board):
    Stuck()
    gc.collect()
    return "W"
