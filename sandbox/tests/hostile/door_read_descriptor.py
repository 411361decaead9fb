# expect: raised Trap
import posix


def strategy(board):
    return posix.stat("/")
