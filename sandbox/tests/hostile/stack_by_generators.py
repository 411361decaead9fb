# expect: stack_overflow
def numbers(depth):
    yield from numbers(depth + 1)


def strategy(board):
    return next(numbers(0))
