# expect: hang
import copy


def strategy(board):
    while True:
        board = [board, copy.deepcopy(board)]
