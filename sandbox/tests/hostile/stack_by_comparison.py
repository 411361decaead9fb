# expect: stack_overflow
def nested():
    nest = []
    for _ in range(10**5):
        nest = [nest]
    return nest


def strategy(board):
    return "W" if nested() == nested() else "A"
