# expect: raised ModuleNotFoundError
import socket


def strategy(board):
    return "W"
