# expect: raised ModuleNotFoundError
import subprocess


def strategy(board):
    return "W"
