# expect: out_of_memory
def strategy(board):
    return eval("-" * 50000 + "1")
