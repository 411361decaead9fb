# expect: raised Trap
import posix


def strategy(board):
    return str(posix.stat("/").st_size)
