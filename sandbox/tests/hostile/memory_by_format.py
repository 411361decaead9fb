# expect: out_of_memory
def strategy(board):
    return format(1, "1000000000d")
