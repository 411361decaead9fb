# expect: stack_overflow
import pickle


def strategy(board):
    nest = []
    for _ in range(10**5):
        nest = [nest]
    return pickle.dumps(nest)
