# expect: gives "W"
import sys


def strategy(board):
    world = sys._getframe(1).f_globals["WitWorld"]
    try:
        world().compile("def strategy(board):\n    return (")
    except BaseException:
        pass
    return "W"
