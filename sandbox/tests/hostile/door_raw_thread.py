# expect: raised RuntimeError
import _thread


def strategy(board):
    _thread.start_joinable_thread(print)
    return "W"
