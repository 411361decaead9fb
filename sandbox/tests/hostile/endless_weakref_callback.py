# expect: hang
import weakref


class Cell:
    pass


def stuck(_):
    while True:
        pass


def strategy(board):
    cell = Cell()
    kept = weakref.ref(cell, stuck)
    del cell
    return "W" if kept() is None else "A"
