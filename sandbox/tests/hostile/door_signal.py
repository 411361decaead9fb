# expect: raised PermissionError
import signal

signal.alarm(1)
signal.pause()


def strategy(board):
    return "W"
