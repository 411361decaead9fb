# expect: hang
def numbers():
    while True:
        try:
            yield 1
        except GeneratorExit:
            while True:
                pass


def strategy(board):
    stream = numbers()
    next(stream)
    del stream
    return "W"
