# expect: raised Trap
import gc


def strategy(board):
    gc.unfreeze()
    for value in gc.get_objects():
        if type(value) is dict:
            value.clear()
    return "W"
