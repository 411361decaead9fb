# expect: raised Trap
import faulthandler


def strategy(board):
    faulthandler._sigabrt()
