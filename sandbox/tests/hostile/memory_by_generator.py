# expect: out_of_memory
def strategy(board):
    return list(bytes(10000) for _ in iter(int, 1))
