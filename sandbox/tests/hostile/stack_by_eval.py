# expect: out_of_memory
def strategy(board):
    return eval("(" * 100000 + ")" * 100000)
