# expect: gives "W"
import threading

threading.Thread(target=print).start()


def strategy(board):
    return "W"
