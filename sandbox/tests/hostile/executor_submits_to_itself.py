# expect: stack_overflow
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor()


def deeper():
    return pool.submit(deeper).result()


def strategy(board):
    return deeper()
