# expect: stack_overflow
import copy


def strategy(board):
    nest = []
    for _ in range(10**5):
        nest = [nest]
    return copy.deepcopy(nest)
