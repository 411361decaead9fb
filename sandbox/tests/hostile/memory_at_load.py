# expect: out_of_memory
table = [0] * (1 << 27)


def strategy(board):
    return "W"
