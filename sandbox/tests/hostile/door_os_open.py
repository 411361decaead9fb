# expect: raised PermissionError
import os


def strategy(board):
    return os.read(os.open("/etc/passwd", os.O_RDONLY), 1)
