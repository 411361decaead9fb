# expect: out_of_memory
def strategy(board):
    return "A" * 10**9
