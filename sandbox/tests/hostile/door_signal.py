# expect: raised ModuleNotFoundError
import signal

signal.alarm(1)


def strategy(board):
    return "W"
