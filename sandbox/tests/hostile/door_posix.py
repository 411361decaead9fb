# expect: raised PermissionError
import posix


def strategy(board):
    return posix.listdir("/")
