# expect: raised AttributeError
import signal

signal.alarm(1)


def strategy(board):
    return "W"
