import random


def strategy(board):
    return random.choice("WASD")
