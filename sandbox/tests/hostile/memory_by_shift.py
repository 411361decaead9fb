# expect: out_of_memory
def strategy(board):
    return 1 << (1 << 30)
