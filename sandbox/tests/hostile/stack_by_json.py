# expect: stack_overflow
import json


def strategy(board):
    return json.loads("[" * 100000)
