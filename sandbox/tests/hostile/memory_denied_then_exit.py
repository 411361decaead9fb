# expect: out_of_memory
import os


def strategy(board):
    try:
        bytearray(1 << 30)
    except MemoryError:
        os.abort()
