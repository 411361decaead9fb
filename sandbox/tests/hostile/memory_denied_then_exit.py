# expect: out_of_memory
import faulthandler


def strategy(board):
    try:
        bytearray(1 << 30)
    except MemoryError:
        faulthandler._sigabrt()
